#include "base/env.h"

#include <stdlib.h>
#include <sys/auxv.h>

bool env_is_trusted(void)
{
    return !getauxval(AT_SECURE);
}

const char *env_get(const char *name)
{
    return env_is_trusted() ? getenv(name) : NULL;
}

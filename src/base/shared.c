#include "base/shared.h"

#include <dlfcn.h>

void *shared_open(const char *const *names, struct text *tried)
{
    for (; *names; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        const char *why = dlerror();
        text_add(tried, "%s%s", tried->length ? "; " : "",
                 why ? why : *names);
    }
    return NULL;
}

void *shared_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

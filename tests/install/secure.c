// Whether the library believes the environment of who started a program that
// has more rights. The path is in RUNNEL_CUDA.
#include <runnel/runnel.h>

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

int main(void)
{
    const char *reason = "";
    size_t count = 0;
    if (!getauxval(AT_SECURE))
        return 77;
    rnl_device_count("cuda", &count);
    rnl_api_reason("cuda", &reason);
    if (!strstr(reason, "/nowhere/chosen"))
        return 0;
    fprintf(stderr, "%s\n", reason);
    return 1;
}

// A program that loads the library while it runs, as the runtime of another
// language does. usage: dlopen LIBRARY
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*version)(void);
    *(void **)&version = library ? dlsym(library, "rnl_version") : NULL;
    if (!version || version() <= 0) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return 0;
}

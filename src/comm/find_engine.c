// Finds the libraries of engines at run time.
#include "comm_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Adds the loader's reason to a list.
static void add_reason(char *tried, size_t size, const char *name)
{
    size_t length = strlen(tried);
    const char *why = dlerror();
    snprintf(tried + length, size - length, "%s%s", length ? "; " : "",
             why ? why : name);
}

void *engine_open(const char *engine, const char *variable,
                  const char *const *names)
{
    const char *chosen = secure_getenv(variable);
    const char *const one[] = {chosen, NULL};
    char tried[900] = "";
    if (chosen && strcmp(chosen, "off") == 0) {
        report(RNL_ERROR_NOT_FOUND, "rnl_comm_create", "context",
               "%s is switched off by %s=off", engine, variable);
        return NULL;
    }
    if (chosen && chosen[0])
        names = one;
    for (; *names; names++) {
        // Parts of Open MPI that it loads itself look for its symbols.
        void *library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
        if (library)
            return library;
        add_reason(tried, sizeof tried, *names);
    }
    report(RNL_ERROR_NOT_FOUND, "rnl_comm_create", "context",
           "%s is not found (%s names its library): %s", engine, variable,
           tried);
    return NULL;
}

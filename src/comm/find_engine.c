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

// The first library that the loader finds with `flags`, or NULL.
static void *open_any(const char *const *names, int flags, char *tried,
                      size_t size)
{
    void *library = NULL;
    for (; *names && !library; names++) {
        library = dlopen(*names, flags | RTLD_NOW | RTLD_NODELETE);
        if (!library)
            add_reason(tried, size, *names);
    }
    return library;
}

void *engine_open(const char *engine, const char *variable,
                  const char *const *names)
{
    // Parts of Open MPI that it loads itself look for its symbols.
    int global = strcmp(engine, "MPI") == 0 ? RTLD_GLOBAL : 0;
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
    // The program may have loaded one already, where other libraries do not see
    // its symbols.
    void *library = open_any(names, global | RTLD_NOLOAD, tried, 1);
    if (!library)
        library = open_any(names, global, tried, sizeof tried);
    if (library)
        return library;
    report(RNL_ERROR_NOT_FOUND, "rnl_comm_create", "context",
           "%s is not found (%s names its library): %s", engine, variable,
           tried);
    return NULL;
}

#include "base/find_program.h"

#include "base/env.h"
#include "base/fail.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path, struct stat *facts)
{
    return stat(path, facts) == 0 && S_ISREG(facts->st_mode) &&
           access(path, X_OK) == 0;
}

static bool try_path(const char *path, struct text *tried)
{
    struct stat facts;
    if (is_program(path, &facts))
        return true;
    text_add(tried, "%s%s", tried->length ? ", " : "", path);
    return false;
}

// As a shell would find it.
static bool search_path(const char *name, char path[FIND_PATH_SIZE],
                        struct stat *facts)
{
    const char *folders = env_get("PATH");
    folders = folders ? folders : "/usr/local/bin:/usr/bin:/bin";
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        int size = snprintf(path, FIND_PATH_SIZE, "%.*s/%s", (int)length,
                            folders, name);
        if (length > 0 && size < FIND_PATH_SIZE && is_program(path, facts))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

// The path of the library, or of the program with the library linked in; the
// caller frees the path. On the heap, since callers may have little stack.
static char *own_path(void)
{
    Dl_info own, program;
    bool is_library =
        dladdr((const void *)(uintptr_t)&find_program, &own) &&
        dladdr((const void *)getauxval(AT_PHDR), &program) &&
        own.dli_fbase != program.dli_fbase && own.dli_fname;
    // For a program the loader knows only the name that started the program.
    return realpath(is_library ? own.dli_fname : "/proc/self/exe", NULL);
}

static bool find_beside(const char *name, char path[FIND_PATH_SIZE],
                        struct text *tried)
{
    static const char *const places[] = {"", "/../bin", "/../libexec/runnel"};
    char *own = own_path(), *slash = own ? strrchr(own, '/') : NULL;
    bool found = false;
    for (size_t i = 0; slash && !found && i < sizeof places / sizeof places[0];
         i++) {
        int size = snprintf(path, FIND_PATH_SIZE, "%.*s%s/%s",
                            (int)(slash - own), own, places[i], name);
        found = size < FIND_PATH_SIZE && try_path(path, tried);
    }
    free(own);
    return found;
}

#if defined(RUNNEL_STATIC)
// The folder of the programs. The CMake package adds it to a program that has
// the library linked in: the package may lie anywhere. pkg-config cannot.
extern const char rnl_program_folder[] __attribute__((weak));
#endif

static bool find_in_package(const char *name, char path[FIND_PATH_SIZE],
                            struct text *tried)
{
#if defined(RUNNEL_STATIC)
    if (rnl_program_folder) {
        snprintf(path, FIND_PATH_SIZE, "%s/%s", rnl_program_folder, name);
        return try_path(path, tried);
    }
#endif
    (void)name, (void)path, (void)tried;
    return false;
}

static bool find_installed(const char *name, char path[FIND_PATH_SIZE],
                           struct text *tried)
{
#if defined(RUNNEL_LIBEXEC_DIR)
    snprintf(path, FIND_PATH_SIZE, "%s/%s", RUNNEL_LIBEXEC_DIR, name);
    return try_path(path, tried);
#else
    (void)name, (void)path, (void)tried;
    return false;
#endif
}

static bool find_configured(const char *configured, char path[FIND_PATH_SIZE],
                            struct text *tried)
{
    struct stat facts;
    if (!strchr(configured, '/') && search_path(configured, path, &facts))
        return true;
    snprintf(path, FIND_PATH_SIZE, "%s", configured);
    return try_path(path, tried);
}

rnl_status find_program(const char *name, const char *variable,
                        const char *configured, char path[FIND_PATH_SIZE])
{
    struct text tried = {0};
    struct stat facts;
    // The user's choice wins over a compiler that happens to be present.
    bool found = configured ? find_configured(configured, path, &tried)
                            : find_beside(name, path, &tried) ||
                                  find_in_package(name, path, &tried) ||
                                  find_installed(name, path, &tried) ||
                                  search_path(name, path, &facts);
    rnl_status status = RNL_OK;
    if (!found)
        status = fail(RNL_ERROR_COMPILER_UNAVAILABLE,
                      "the kernel compiler %s was not found%s%s%s; "
                      "looked for %s%s", name, configured ? " where " : "",
                      configured ? variable : "", configured ? " says" : "",
                      text_get(&tried),
                      configured ? "" : " and in every folder of PATH");
    text_finish(&tried);
    return status;
}

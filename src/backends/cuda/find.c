// Finds NVRTC, anew for each call and mostly by checking for files. So a
// library that was just installed or removed counts at once. A library is
// loaded only to ask the dynamic loader about places that no check of files
// finds.
#include "backends/cuda/nvrtc.h"

#include "base/alloc.h"
#include "base/env.h"
#include "base/fail.h"
#include "core/object/config.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS_MAX 32

struct kernel_search {
    char folders[FOLDERS_MAX][512];
    size_t folder_count;
    struct text tried;
};

static const char *const names[] = {
    "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
};
static const int majors[] = {13, 12, 11, 0};

#define NAMES (sizeof names / sizeof names[0])

// --- Folders -----------------------------------------------------------------

static void add_folder(struct kernel_search *search, const char *folder,
                       size_t length, const char *below)
{
    char *place = search->folders[search->folder_count];
    int size = snprintf(place, sizeof search->folders[0], "%.*s%s",
                        (int)length, folder, below);
    if (length == 0 || size < 0 || (size_t)size >= sizeof search->folders[0] ||
        search->folder_count + 1 >= FOLDERS_MAX)
        return;
    for (size_t i = 0; i < search->folder_count; i++)
        if (strcmp(search->folders[i], place) == 0)
            return;
    search->folder_count++;
}

static void add_list(struct kernel_search *search, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ":;");
        add_folder(search, list, length, "");
        list += length + (list[length] != '\0');
    }
}

static void add_toolkit(struct kernel_search *search, const char *variable)
{
    const char *root = env_get(variable);
    if (root && *root)
        add_folder(search, root, strlen(root), "/lib64");
}

static void add_folders(struct kernel_search *search, const char *beside)
{
    static const char *const usual[] = {
        "/usr/local/cuda/lib64", "/opt/cuda/lib64",
#if defined(__x86_64__)
        "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
        "/usr/lib/aarch64-linux-gnu",
#endif
        "/usr/lib64", "/usr/lib",
    };
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    add_list(search, env_get("LD_LIBRARY_PATH"));
    add_toolkit(search, "CUDA_PATH");
    add_toolkit(search, "CUDA_HOME");
    if (slash)
        add_folder(search, beside, (size_t)(slash - beside), "");
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        add_folder(search, usual[i], strlen(usual[i]), "");
}

// --- The library -------------------------------------------------------------

static bool is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

static bool in_folders(const struct kernel_search *search, const char *name,
                       char path[NVRTC_PATH_SIZE])
{
    for (size_t i = 0; i < search->folder_count; i++) {
        snprintf(path, NVRTC_PATH_SIZE, "%s/%s", search->folders[i], name);
        if (is_file(path))
            return true;
    }
    return false;
}

// The loader's path of the library: from the cache of all libraries, or of a
// library that the program has already loaded.
static bool by_loader(const char *name, char path[NVRTC_PATH_SIZE])
{
    void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    struct link_map *map = NULL;
    if (!library)
        return false;
    bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map;
    snprintf(path, NVRTC_PATH_SIZE, "%s",
             known && map->l_name[0] ? map->l_name : name);
    dlclose(library);
    return true;
}

// The driver may refuse code and PTX of a newer toolkit, so libraries that are
// not newer are tried first.
static bool find_any(const struct kernel_search *search, int driver_major,
                     char path[NVRTC_PATH_SIZE])
{
    for (int newer = 0; newer < 2; newer++)
        for (size_t i = 0; i < NAMES; i++)
            if ((majors[i] > driver_major) == newer &&
                in_folders(search, names[i], path))
                return true;
    for (int newer = 0; newer < 2; newer++)
        for (size_t i = 0; i < NAMES; i++)
            if ((majors[i] > driver_major) == newer &&
                by_loader(names[i], path))
                return true;
    return false;
}

static rnl_status refuse_configured(const char *configured)
{
    return fail(RNL_ERROR_COMPILER_UNAVAILABLE,
                strcmp(configured, "off") == 0
                    ? "the kernel compiler NVRTC is switched off: "
                      "RUNNEL_NVRTC=%s"
                    : "the kernel compiler NVRTC was not found where "
                      "RUNNEL_NVRTC says; looked for %s",
                configured);
}

// The user's choice is never replaced by another library that is present.
static rnl_status find_configured(const struct kernel_search *search,
                                  const char *configured,
                                  char path[NVRTC_PATH_SIZE])
{
    bool off = strcmp(configured, "off") == 0;
    bool bare = !strchr(configured, '/');
    snprintf(path, NVRTC_PATH_SIZE, "%s", configured);
    if (!off && (bare ? in_folders(search, configured, path) ||
                            by_loader(configured, path)
                      : is_file(configured)))
        return RNL_OK;
    return refuse_configured(configured);
}

static rnl_status refuse(struct kernel_search *search)
{
    struct text *tried = &search->tried;
    for (size_t i = 0; i < NAMES; i++)
        text_add(tried, "%s%s", i ? ", " : "", names[i]);
    text_add(tried, " in ");
    for (size_t i = 0; i < search->folder_count; i++)
        text_add(tried, "%s%s", i ? ", " : "", search->folders[i]);
    return fail(RNL_ERROR_COMPILER_UNAVAILABLE,
                "the kernel compiler NVRTC was not found; looked for %s, and "
                "wherever the dynamic loader looks; RUNNEL_NVRTC can name it",
                text_get(tried));
}

// --- Headers -----------------------------------------------------------------

// True for the headers of a toolkit. The headers of the C library are not for
// kernels.
static bool is_toolkit(const char *include)
{
    struct stat facts;
    int folder = open(include, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool there = folder >= 0 &&
                 fstatat(folder, "cuda_fp16.h", &facts, 0) == 0 &&
                 S_ISREG(facts.st_mode);
    if (folder >= 0)
        close(folder);
    char *resolved = there ? realpath(include, NULL) : NULL;
    bool is = resolved && strcmp(resolved, "/usr/include") != 0;
    free(resolved);
    return is;
}

static bool try_include(const char *folder, size_t length, const char *below,
                        char include[NVRTC_PATH_SIZE])
{
    int size = snprintf(include, NVRTC_PATH_SIZE, "%.*s%s", (int)length, folder,
                        below);
    if (size > 0 && size < NVRTC_PATH_SIZE && is_toolkit(include))
        return true;
    include[0] = '\0';
    return false;
}

static bool try_variable(const char *variable, char include[NVRTC_PATH_SIZE])
{
    const char *root = env_get(variable);
    return root && *root &&
           try_include(root, strlen(root), "/include", include);
}

// Prefers the headers that belong to the library.
static void find_include(struct nvrtc_place *place)
{
    static const char *const below[] = {
        "/../include", "/../../include", "/../../cuda_runtime/include",
    };
    const char *slash = strrchr(place->path, '/');
    for (size_t i = 0; slash && i < sizeof below / sizeof below[0]; i++)
        if (try_include(place->path, (size_t)(slash - place->path), below[i],
                        place->include))
            return;
    place->include[0] = '\0';
    if (!try_variable("CUDA_PATH", place->include) &&
        !try_variable("CUDA_HOME", place->include))
        try_include("/usr/local/cuda", 15, "/include", place->include);
}

rnl_status nvrtc_find(int driver_version, const char *beside,
                      struct nvrtc_place *out_place)
{
    const char *configured = config_get()->nvrtc;
    // Callers of the library may have a small stack.
    struct kernel_search *search = mem_allocate(sizeof *search);
    rnl_status status = RNL_OK;
    if (!search)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to look for NVRTC");
    add_folders(search, beside);
    if (configured)
        status = find_configured(search, configured, out_place->path);
    else if (!find_any(search, driver_version / 1000, out_place->path))
        status = refuse(search);
    if (status == RNL_OK)
        find_include(out_place);
    text_finish(&search->tried);
    mem_release(search, sizeof *search);
    return status;
}

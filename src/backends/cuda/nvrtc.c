#include "backends/cuda/nvrtc.h"

#include "base/alloc.h"
#include "base/fail.h"
#include "base/thread.h"

#include "core/module/function.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LOADED_MAX 4

static struct loaded {
    char path[NVRTC_PATH_SIZE];
    struct nvrtc nvrtc;
} loaded[LOADED_MAX];
static _Atomic size_t loaded_count;
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;

// --- Symbols -----------------------------------------------------------------

enum nvrtc_need { REQUIRED, OPTIONAL };

// The first required symbol that is missing, or NULL.
static const char *find_symbols(void *library, struct nvrtc *nvrtc)
{
    static const struct {
        const char *name;
        size_t offset;
        enum nvrtc_need need;
    } symbols[] = {
#define SYMBOL(name, vendor, need, type, parameters) \
    {#vendor, offsetof(struct nvrtc, name), need},
#include "backends/cuda/nvrtc.def"
#undef SYMBOL
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol && symbols[i].need == REQUIRED)
            return symbols[i].name;
        memcpy((char *)nvrtc + symbols[i].offset, &symbol, sizeof symbol);
    }
    return NULL;
}

// --- Targets -----------------------------------------------------------------

static void sort(int *numbers, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && numbers[j] < numbers[j - 1]; j--) {
            int other = numbers[j];
            numbers[j] = numbers[j - 1];
            numbers[j - 1] = other;
        }
}

// NVRTC before 11.2 cannot list its targets: every version 11 knows 7.0 to 8.0.
static void learn_targets(struct nvrtc *nvrtc)
{
    static const int old[] = {70, 72, 75, 80};
    int count = 0;
    int most = (int)(sizeof nvrtc->known / sizeof nvrtc->known[0]);
    if (nvrtc->target_count && nvrtc->targets &&
        nvrtc->target_count(&count) == 0 && count > 0 && count <= most &&
        nvrtc->targets(nvrtc->known) == 0) {
        nvrtc->known_count = count;
        sort(nvrtc->known, count);
        return;
    }
    memcpy(nvrtc->known, old, sizeof old);
    nvrtc->known_count = (int)(sizeof old / sizeof old[0]);
}

static rnl_status refuse_old(const struct nvrtc *nvrtc, int major, int minor)
{
    struct text known = {0};
    for (int i = 0; i < nvrtc->known_count; i++)
        text_add(&known, "%s%d.%d", i ? ", " : "", nvrtc->known[i] / 10,
                 nvrtc->known[i] % 10);
    fail(RNL_ERROR_COMPILER_UNAVAILABLE,
         "NVRTC %d.%d does not compile for compute capability %d.%d any more; "
         "it knows %s",
         nvrtc->major, nvrtc->minor, major, minor, text_get(&known));
    text_finish(&known);
    return RNL_ERROR_COMPILER_UNAVAILABLE;
}

rnl_status nvrtc_target(const struct nvrtc *nvrtc, int major, int minor,
                        char word[32])
{
    int wanted = major * 10 + minor, best = 0;
    for (int i = 0; i < nvrtc->known_count; i++)
        if (nvrtc->known[i] <= wanted)
            best = nvrtc->known[i];
    if (best == 0)
        return refuse_old(nvrtc, major, minor);
    bool code = best == wanted && nvrtc->cubin_size && nvrtc->cubin;
    snprintf(word, 32, "%s_%d", code ? "sm" : "compute", best);
    return RNL_OK;
}

// --- Loading -----------------------------------------------------------------

static rnl_status refuse(const char *path, const char *what, const char *words)
{
    fail(RNL_ERROR_COMPILER_UNAVAILABLE,
         "the kernel compiler NVRTC cannot be used: %s %s%s", path, what,
         words);
    fail_set_native(0, words);
    return RNL_ERROR_COMPILER_UNAVAILABLE;
}

static rnl_status load(const char *path, struct nvrtc *nvrtc)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *words = dlerror();
        return refuse(path, "does not load: ", words ? words : "no reason");
    }
    const char *missing = find_symbols(library, nvrtc);
    if (missing || nvrtc->version(&nvrtc->major, &nvrtc->minor) != 0) {
        dlclose(library);
        return refuse(path, "lacks ", missing ? missing : "a version");
    }
    learn_targets(nvrtc);
    return RNL_OK;
}

static const struct nvrtc *find_loaded(const char *path)
{
    size_t count = atomic_load_explicit(&loaded_count, memory_order_acquire);
    for (size_t i = 0; i < count; i++)
        if (strcmp(loaded[i].path, path) == 0)
            return &loaded[i].nvrtc;
    return NULL;
}

static rnl_status load_locked(const char *path)
{
    ASSERT(pthread_mutex_trylock(&load_mutex) != 0);
    size_t count = atomic_load(&loaded_count);
    if (find_loaded(path))
        return RNL_OK;
    if (count == LOADED_MAX)
        return refuse(path, "is one too many: ", "it moved too often");
    struct loaded *slot = &loaded[count];
    slot->nvrtc = (struct nvrtc){.major = 0};
    rnl_status status = load(path, &slot->nvrtc);
    if (status != RNL_OK)
        return status;
    snprintf(slot->path, sizeof slot->path, "%s", path);
    atomic_store_explicit(&loaded_count, count + 1, memory_order_release);
    return RNL_OK;
}

rnl_status nvrtc_load(const char *path, const struct nvrtc **out_nvrtc)
{
    rnl_status status = RNL_OK;
    if (!find_loaded(path)) {
        pthread_mutex_lock(&load_mutex);
        status = load_locked(path);
        pthread_mutex_unlock(&load_mutex);
    }
    if (status == RNL_OK)
        *out_nvrtc = find_loaded(path);
    return status;
}

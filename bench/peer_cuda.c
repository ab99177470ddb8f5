#include "peer_cuda.h"

#include "harness.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void *open_first(const char *setting, const char *const *names)
{
    const char *given = getenv(setting);
    if (given && *given)
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void find(void *library, const char *name, void *out_function)
{
    void *address = dlsym(library, name);
    memcpy(out_function, &address, sizeof address);
}

const char *cuda_peer_open(cuda_peer *peer, void *context)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    void *library = open_first("RUNNEL_CUDA", names);
    if (!library)
        return "no libcuda";
#define FIND(name, symbol, parameters) find(library, #symbol, &peer->name);
    CUDA_PEER_FUNCTIONS(FIND)
#undef FIND
    if (!peer->context_set || !peer->stream_create || !peer->launch ||
        !peer->stream_synchronize)
        return "this libcuda lacks what every program needs";
    peer->context = context;
    cuda_peer_enter(peer);
    int failed = peer->stream_create(&peer->stream, CUDA_NON_BLOCKING, 0);
    cuda_peer_leave(peer);
    return failed ? "the driver makes no stream" : NULL;
}

void cuda_peer_close(cuda_peer *peer)
{
    if (!peer->stream || !peer->stream_destroy)
        return;
    cuda_peer_enter(peer);
    peer->stream_destroy(peer->stream);
    cuda_peer_leave(peer);
    peer->stream = NULL;
}

void cuda_peer_enter(const cuda_peer *peer)
{
    peer->context_set(peer->context);
}

void cuda_peer_leave(const cuda_peer *peer)
{
    peer->context_set(NULL);
}

// --- NVRTC -----------------------------------------------------------------

typedef struct nvrtc {
    int (*create)(void **out, const char *source, const char *name, int count,
                  const char *const *headers, const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*size)(void *program, size_t *out);
    int (*get)(void *program, char *out);
    int (*destroy)(void **program);
} nvrtc;

static bool open_nvrtc(nvrtc *out)
{
    static const char *const names[] = {
        "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
        "/usr/local/cuda/lib64/libnvrtc.so.13",
        "/usr/local/cuda/lib64/libnvrtc.so", NULL};
    void *library = open_first("RUNNEL_NVRTC", names);
    if (!library)
        return false;
    find(library, "nvrtcCreateProgram", &out->create);
    find(library, "nvrtcCompileProgram", &out->compile);
    find(library, "nvrtcGetCUBINSize", &out->size);
    find(library, "nvrtcGetCUBIN", &out->get);
    find(library, "nvrtcDestroyProgram", &out->destroy);
    return out->create && out->compile && out->size && out->get &&
           out->destroy;
}

// The binary, to be freed; NULL: it failed.
static char *compile(const nvrtc *compiler, const char *source, int capability)
{
    char target[48], *binary = NULL;
    const char *options[] = {target};
    void *program = NULL;
    size_t size = 0;
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d", capability);
    if (compiler->create(&program, source, "kernel.cu", 0, NULL, NULL))
        return NULL;
    if (!compiler->compile(program, 1, options) &&
        !compiler->size(program, &size) && (binary = malloc(size)) &&
        compiler->get(program, binary)) {
        free(binary);
        binary = NULL;
    }
    compiler->destroy(&program);
    return binary;
}

const char *cuda_peer_no_nvrtc(void)
{
    nvrtc compiler;
    return open_nvrtc(&compiler) ? NULL : "no libnvrtc (RUNNEL_NVRTC)";
}

double cuda_peer_translate(const char *source)
{
    nvrtc compiler;
    if (!open_nvrtc(&compiler))
        return -1;
    uint64_t start = bench_now_ns();
    char *binary = compile(&compiler, source, 80);
    double time = (double)(bench_now_ns() - start);
    const bool good = binary != NULL;
    free(binary);
    return good ? time : -1;
}

double cuda_peer_compile(const cuda_peer *peer, const char *source,
                         const char *name, int capability)
{
    nvrtc compiler;
    void *module = NULL, *function = NULL;
    if (!peer->module_load || !peer->module_function)
        return -1;
    cuda_peer_enter(peer);
    uint64_t start = bench_now_ns();
    char *binary = open_nvrtc(&compiler)
                       ? compile(&compiler, source, capability)
                       : NULL;
    bool good = binary && !peer->module_load(&module, binary, 0, NULL, NULL) &&
                !peer->module_function(&function, module, name);
    double time = (double)(bench_now_ns() - start);
    free(binary);
    if (module && peer->module_unload)
        peer->module_unload(module);
    cuda_peer_leave(peer);
    return good ? time : -1;
}

// libcuda and NVRTC by hand, as a program without Runnel would call them: found
// by dlopen, declared here. A function that the driver lacks is NULL, and
// variants that need the function are left out.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct cuda_kernel_node {
    void *function;
    unsigned grid[3], block[3], shared_size;
    void **arguments, **extra;
} cuda_kernel_node;

#define CUDA_PEER_FUNCTIONS(F)                                              \
    F(context_set, cuCtxSetCurrent, (void *context))                        \
    F(stream_create, cuStreamCreateWithPriority,                            \
      (void **out, unsigned flags, int priority))                           \
    F(stream_destroy, cuStreamDestroy_v2, (void *stream))                   \
    F(stream_synchronize, cuStreamSynchronize, (void *stream))              \
    F(event_create, cuEventCreate, (void **out, unsigned flags))            \
    F(event_destroy, cuEventDestroy_v2, (void *event))                      \
    F(event_record, cuEventRecord, (void *event, void *stream))             \
    F(event_query, cuEventQuery, (void *event))                             \
    F(launch, cuLaunchKernel,                                               \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,  \
       unsigned by, unsigned bz, unsigned shared_size, void *stream,        \
       void **arguments, void **extra))                                     \
    F(host_function, cuLaunchHostFunc,                                      \
      (void *stream, void (*function)(void *data), void *data))             \
    F(pool_of_device, cuDeviceGetDefaultMemPool, (void **out, int device))  \
    F(pool_set, cuMemPoolSetAttribute, (void *pool, int id, void *value))   \
    F(allocate, cuMemAllocAsync,                                            \
      (uint64_t *out, size_t size, void *stream))                           \
    F(give_back, cuMemFreeAsync, (uint64_t address, void *stream))          \
    F(copy, cuMemcpyAsync,                                                  \
      (uint64_t to, uint64_t from, size_t size, void *stream))              \
    F(graph_create, cuGraphCreate, (void **out, unsigned flags))            \
    F(graph_destroy, cuGraphDestroy, (void *graph))                         \
    F(graph_add_kernel, cuGraphAddKernelNode,                               \
      (void **out, void *graph, void *const *after, size_t count,           \
       const cuda_kernel_node *node))                                       \
    F(graph_instantiate, cuGraphInstantiateWithFlags,                       \
      (void **out, void *graph, unsigned long long flags))                  \
    F(exec_set_kernel, cuGraphExecKernelNodeSetParams,                      \
      (void *exec, void *node, const cuda_kernel_node *params))             \
    F(exec_launch, cuGraphLaunch, (void *exec, void *stream))               \
    F(exec_destroy, cuGraphExecDestroy, (void *exec))                       \
    F(module_load, cuModuleLoadDataEx,                                      \
      (void **out, const void *image, unsigned count, int *options,         \
       void **values))                                                      \
    F(module_unload, cuModuleUnload, (void *module))                        \
    F(module_function, cuModuleGetFunction,                                 \
      (void **out, void *module, const char *name))

typedef struct cuda_peer {
#define CUDA_PEER_FIELD(name, symbol, parameters) int(*name) parameters;
    CUDA_PEER_FUNCTIONS(CUDA_PEER_FIELD)
#undef CUDA_PEER_FIELD
    void *context;  // the context that Runnel uses
    void *stream;   // not Runnel's
} cuda_peer;

enum { CUDA_NON_BLOCKING = 1, CUDA_EVENT_NO_TIMING = 2 };

// NULL, or why the peer is absent. `context` is made current for calls by
// cuda_peer_enter, and only then: Runnel is measured as in a program
// without a current context.
const char *cuda_peer_open(cuda_peer *peer, void *context);
void cuda_peer_close(cuda_peer *peer);
void cuda_peer_enter(const cuda_peer *peer);
void cuda_peer_leave(const cuda_peer *peer);

// Why NVRTC is not here, or NULL. It needs no driver.
const char *cuda_peer_no_nvrtc(void);

// The time that NVRTC takes to machine code for sm_80, in ns; negative if it
// fails.
double cuda_peer_translate(const char *source);

// ns from source to a function of that name, by NVRTC; negative: it failed.
double cuda_peer_compile(const cuda_peer *peer, const char *source,
                         const char *name, int compute_capability);

// Types of CUDA's runtime and driver, for what sources declare beside kernels.
// Nothing in a kernel can be done with them.
typedef struct rnl_event *cudaEvent_t;
typedef struct rnl_graph *cudaGraph_t;
typedef struct rnl_graph_exec *cudaGraphExec_t;
typedef struct rnl_memory_pool *cudaMemPool_t;
typedef struct cudaArray *cudaArray_t;
typedef const struct cudaArray *cudaArray_const_t;
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
typedef struct rnl_no_stream *CUstream;
typedef struct rnl_event *CUevent;
typedef struct rnl_context *CUcontext;
typedef struct rnl_module *CUmodule;
typedef struct rnl_function *CUfunction;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef int CUresult;
struct cudaDeviceProp;
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
struct cudaExtent {
    size_t width, height, depth;
};
struct cudaPos {
    size_t x, y, z;
};
enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned,
    cudaChannelFormatKindUnsigned,
    cudaChannelFormatKindFloat,
    cudaChannelFormatKindNone,
};
struct cudaChannelFormatDesc {
    int x, y, z, w;
    enum cudaChannelFormatKind f;
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault,
};
static constexpr cudaError_t cudaSuccess = 0;

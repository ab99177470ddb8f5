// Names that CUDA has and Runnel does not: using one is an error at the user's
// own line.
#define RNL_UNSUPPORTED(what)                                                \
    __attribute__((unavailable(what " is not supported by Runnel on the CPU")))
#define RNL_NO_FUNCTION(name)                                                \
    template <class... A> RNL_UNSUPPORTED(#name) int name(A &&...);          \
    template <class T, class... A> RNL_UNSUPPORTED(#name) T name(A &&...);

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
typedef int cudaError_t;
typedef struct rnl_no_stream *cudaStream_t;
#define RNL_NO_TEXTURE(dimensions)       \
    RNL_NO_FUNCTION(tex##dimensions)     \
    RNL_NO_FUNCTION(tex##dimensions##Lod) \
    RNL_NO_FUNCTION(tex##dimensions##Grad)
RNL_NO_TEXTURE(1D)
RNL_NO_TEXTURE(2D)
RNL_NO_TEXTURE(3D)
RNL_NO_TEXTURE(Cubemap)
RNL_NO_TEXTURE(1DLayered)
RNL_NO_TEXTURE(2DLayered)
RNL_NO_TEXTURE(CubemapLayered)
RNL_NO_FUNCTION(tex1Dfetch)
RNL_NO_FUNCTION(tex2Dgather)
#define RNL_NO_SURFACE(dimensions)          \
    RNL_NO_FUNCTION(surf##dimensions##read) \
    RNL_NO_FUNCTION(surf##dimensions##write)
RNL_NO_SURFACE(1D)
RNL_NO_SURFACE(2D)
RNL_NO_SURFACE(3D)
RNL_NO_SURFACE(1DLayered)
RNL_NO_SURFACE(2DLayered)
RNL_NO_SURFACE(Cubemap)

RNL_NO_FUNCTION(cudaDeviceSynchronize)
RNL_NO_FUNCTION(cudaGetLastError)
RNL_NO_FUNCTION(cudaLaunchDevice)
RNL_NO_FUNCTION(cudaLaunchKernel)
RNL_NO_FUNCTION(cudaMalloc)
RNL_NO_FUNCTION(cudaMemcpyAsync)
RNL_NO_FUNCTION(cudaStreamCreateWithFlags)
RNL_NO_FUNCTION(cudaGridDependencySynchronize)
RNL_NO_FUNCTION(cudaTriggerProgrammaticLaunchCompletion)

RNL_NO_FUNCTION(__cluster_barrier_arrive)
RNL_NO_FUNCTION(__cluster_barrier_wait)
RNL_NO_FUNCTION(__cluster_map_shared_rank)
RNL_NO_FUNCTION(__cluster_query_shared_rank)
RNL_NO_FUNCTION(__clusterDim)
RNL_NO_FUNCTION(__clusterIdx)
RNL_NO_FUNCTION(__clusterRelativeBlockIdx)
RNL_NO_FUNCTION(__clusterRelativeBlockRank)
RNL_NO_FUNCTION(__clusterSizeInBlocks)

RNL_NO_FUNCTION(__isGlobal)
RNL_NO_FUNCTION(__isShared)
RNL_NO_FUNCTION(__isConstant)
RNL_NO_FUNCTION(__isLocal)
RNL_NO_FUNCTION(__cvta_generic_to_shared)
RNL_NO_FUNCTION(__cvta_generic_to_global)
RNL_NO_FUNCTION(__cvta_shared_to_generic)
RNL_NO_FUNCTION(__pipeline_memcpy_async)
RNL_NO_FUNCTION(__pipeline_commit)
RNL_NO_FUNCTION(__pipeline_wait_prior)
RNL_NO_FUNCTION(__setmaxnreg)

namespace cooperative_groups {
RNL_NO_FUNCTION(this_cluster)
} // namespace cooperative_groups

namespace nvcuda {
namespace wmma {
struct RNL_UNSUPPORTED("nvcuda::wmma") matrix_a;
struct RNL_UNSUPPORTED("nvcuda::wmma") matrix_b;
struct RNL_UNSUPPORTED("nvcuda::wmma") accumulator;
struct RNL_UNSUPPORTED("nvcuda::wmma") row_major;
struct RNL_UNSUPPORTED("nvcuda::wmma") col_major;
template <class Use, int M, int N, int K, class T, class Layout = void>
struct RNL_UNSUPPORTED("nvcuda::wmma") fragment;
RNL_NO_FUNCTION(load_matrix_sync)
RNL_NO_FUNCTION(store_matrix_sync)
RNL_NO_FUNCTION(fill_fragment)
RNL_NO_FUNCTION(mma_sync)
} // namespace wmma
} // namespace nvcuda

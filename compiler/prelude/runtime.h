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
typedef enum cudaError_enum : int { CUDA_SUCCESS } CUresult;
#define RNL_OPAQUE(name) \
    struct cuda##name {  \
        void *opaque;    \
    };
RNL_OPAQUE(AccessPolicyWindow)
RNL_OPAQUE(ArrayMemoryRequirements)
RNL_OPAQUE(ArraySparseProperties)
RNL_OPAQUE(ChildGraphNodeParams)
RNL_OPAQUE(ConditionalNodeParams)
RNL_OPAQUE(DeviceProp)
RNL_OPAQUE(EventRecordNodeParams)
RNL_OPAQUE(EventWaitNodeParams)
RNL_OPAQUE(ExternalMemoryBufferDesc)
RNL_OPAQUE(ExternalMemoryHandleDesc)
RNL_OPAQUE(ExternalMemoryMipmappedArrayDesc)
RNL_OPAQUE(ExternalSemaphoreHandleDesc)
RNL_OPAQUE(ExternalSemaphoreSignalNodeParams)
RNL_OPAQUE(ExternalSemaphoreSignalParams)
RNL_OPAQUE(ExternalSemaphoreWaitNodeParams)
RNL_OPAQUE(ExternalSemaphoreWaitParams)
RNL_OPAQUE(FuncAttributes)
RNL_OPAQUE(GraphKernelNodeUpdate)
RNL_OPAQUE(GraphNodeParams)
RNL_OPAQUE(HostNodeParams)
RNL_OPAQUE(IpcEventHandle_st)
RNL_OPAQUE(IpcMemHandle_st)
RNL_OPAQUE(KernelNodeParams)
RNL_OPAQUE(LaunchAttribute)
RNL_OPAQUE(LaunchConfig)
RNL_OPAQUE(MemAccessDesc)
RNL_OPAQUE(MemAllocNodeParams)
RNL_OPAQUE(MemFabricHandle_st)
RNL_OPAQUE(MemFreeNodeParams)
RNL_OPAQUE(MemLocation)
RNL_OPAQUE(MemPoolProps)
RNL_OPAQUE(MemPoolPtrExportData)
RNL_OPAQUE(Memcpy3DParms)
RNL_OPAQUE(Memcpy3DPeerParms)
RNL_OPAQUE(MemcpyAttributes)
RNL_OPAQUE(MemcpyNodeParams)
RNL_OPAQUE(MemsetParams)
RNL_OPAQUE(Offset3D)
RNL_OPAQUE(PointerAttributes)
RNL_OPAQUE(ResourceDesc)
RNL_OPAQUE(ResourceViewDesc)
RNL_OPAQUE(TextureDesc)
#undef RNL_OPAQUE
#define RNL_OPAQUE(name) enum cuda##name : int {};
RNL_OPAQUE(AccessProperty)
RNL_OPAQUE(CGScope)
RNL_OPAQUE(ComputeMode)
RNL_OPAQUE(DeviceAttr)
RNL_OPAQUE(DeviceP2PAttr)
RNL_OPAQUE(ExternalMemoryHandleType)
RNL_OPAQUE(ExternalSemaphoreHandleType)
RNL_OPAQUE(FuncAttribute)
RNL_OPAQUE(FuncCache)
RNL_OPAQUE(GraphExecUpdateResult)
RNL_OPAQUE(GraphInstantiateFlags)
RNL_OPAQUE(GraphMemAttributeType)
RNL_OPAQUE(GraphNodeType)
RNL_OPAQUE(JitOption)
RNL_OPAQUE(Limit)
RNL_OPAQUE(MemAccessFlags)
RNL_OPAQUE(MemAllocationHandleType)
RNL_OPAQUE(MemAllocationType)
RNL_OPAQUE(MemLocationType)
RNL_OPAQUE(MemPoolAttr)
RNL_OPAQUE(MemRangeAttribute)
RNL_OPAQUE(MemcpyFlags)
RNL_OPAQUE(MemoryAdvise)
RNL_OPAQUE(MemoryType)
RNL_OPAQUE(ResourceType)
RNL_OPAQUE(ResourceViewFormat)
RNL_OPAQUE(SharedCarveout)
RNL_OPAQUE(SharedMemConfig)
RNL_OPAQUE(StreamCaptureMode)
RNL_OPAQUE(StreamCaptureStatus)
RNL_OPAQUE(SurfaceBoundaryMode)
RNL_OPAQUE(SurfaceFormatMode)
RNL_OPAQUE(SynchronizationPolicy)
#undef RNL_OPAQUE
#define RNL_OPAQUE(name) typedef struct rnl_##name *cuda##name;
RNL_OPAQUE(ExternalMemory_t)
RNL_OPAQUE(ExternalSemaphore_t)
RNL_OPAQUE(Function_t)
RNL_OPAQUE(GraphDeviceNode_t)
RNL_OPAQUE(GraphNode_t)
RNL_OPAQUE(GraphicsResource_t)
RNL_OPAQUE(Kernel_t)
RNL_OPAQUE(Library_t)
RNL_OPAQUE(UserObject_t)
#undef RNL_OPAQUE
typedef cudaIpcEventHandle_st cudaIpcEventHandle_t;
typedef cudaIpcMemHandle_st cudaIpcMemHandle_t;
typedef const struct cudaMipmappedArray *cudaMipmappedArray_const_t;
typedef struct CUuuid_st {
    char bytes[16];
} CUuuid, cudaUUID_t;
typedef void (*cudaHostFn_t)(void *);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void *);
enum cudaTextureAddressMode {
    cudaAddressModeWrap,
    cudaAddressModeClamp,
    cudaAddressModeMirror,
    cudaAddressModeBorder,
};
enum cudaTextureFilterMode { cudaFilterModePoint, cudaFilterModeLinear };
enum cudaTextureReadMode {
    cudaReadModeElementType,
    cudaReadModeNormalizedFloat,
};
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

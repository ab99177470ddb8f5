// What the backend declares of CUDA against the vendor's header: nothing to
// run, it compiles or not.

#include <cuda.h>
#include <stddef.h>

#include "backends/cudalike/driver/driver.h"

// --- Numbers --------------------------------------------------------------

#define SAME(ours, theirs) \
    _Static_assert((long long)(ours) == (long long)(theirs), #ours)

SAME(DRIVER_WAIT32, CU_STREAM_MEM_OP_WAIT_VALUE_32);
SAME(DRIVER_WRITE32, CU_STREAM_MEM_OP_WRITE_VALUE_32);
SAME(DRIVER_WAIT64, CU_STREAM_MEM_OP_WAIT_VALUE_64);
SAME(DRIVER_WRITE64, CU_STREAM_MEM_OP_WRITE_VALUE_64);
SAME(DRIVER_WAIT_GEQ, CU_STREAM_WAIT_VALUE_GEQ);
SAME(DRIVER_WAIT_EQ, CU_STREAM_WAIT_VALUE_EQ);
SAME(DRIVER_WAIT_AND, CU_STREAM_WAIT_VALUE_AND);
SAME(DRIVER_WAIT_NOR, CU_STREAM_WAIT_VALUE_NOR);
SAME(DRIVER_WAIT_FLUSH, CU_STREAM_WAIT_VALUE_FLUSH);
SAME(DRIVER_WRITE_NO_BARRIER, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
SAME(DRIVER_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME(DRIVER_MEMORY_UNIFIED, CU_MEMORYTYPE_UNIFIED);
SAME(DRIVER_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(DRIVER_POINTER_RANGE_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(DRIVER_POINTER_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(DRIVER_SHARE_LAZY_PEER, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
SAME(DRIVER_DEVICE_CPU, CU_DEVICE_CPU);
SAME(DRIVER_LAUNCH_ACCESS_POLICY, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
SAME(DRIVER_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(DRIVER_LAUNCH_SYNC_POLICY, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY);
SAME(DRIVER_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(DRIVER_LAUNCH_PROGRAMMATIC_SERIALIZATION,
     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(DRIVER_LAUNCH_CLUSTER_SCHEDULING,
     CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
SAME(DRIVER_LAUNCH_PROGRAMMATIC_EVENT, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
SAME(DRIVER_LAUNCH_PRIORITY, CU_LAUNCH_ATTRIBUTE_PRIORITY);
SAME(DRIVER_LAUNCH_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
SAME(DRIVER_LAUNCH_DOMAIN, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
#if CUDA_VERSION >= 12080
SAME(DRIVER_LAUNCH_PREFERRED_CLUSTER,
     CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
SAME(DRIVER_LAUNCH_COMPLETION_EVENT,
     CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
SAME(DRIVER_LAUNCH_CARVEOUT,
     CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
SAME(RNL_LAUNCH_UPDATABLE_NODE,
     CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
#endif
SAME(RNL_CLUSTER_SPREAD, CU_CLUSTER_SCHEDULING_POLICY_SPREAD);
SAME(RNL_CLUSTER_BALANCE, CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
SAME(DRIVER_LINK_ASSEMBLY, CU_JIT_INPUT_PTX);
SAME(DRIVER_PORT_PROGRAMMATIC, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
SAME(DRIVER_EDGE_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
SAME(DRIVER_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
SAME(DRIVER_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME(DRIVER_CONDITION_IF, CU_GRAPH_COND_TYPE_IF);
SAME(DRIVER_CONDITION_WHILE, CU_GRAPH_COND_TYPE_WHILE);
SAME(DRIVER_CONDITION_SWITCH, CU_GRAPH_COND_TYPE_SWITCH);
SAME(DRIVER_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(DRIVER_STREAM_SPECIAL_MOST, (uintptr_t)CU_STREAM_PER_THREAD);
SAME(DRIVER_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(DRIVER_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(DRIVER_HOST_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME(DRIVER_HOST_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP);
SAME(DRIVER_HOST_MAPPED, CU_MEMHOSTREGISTER_DEVICEMAP);
SAME(DRIVER_ATTACH_GLOBAL, CU_MEM_ATTACH_GLOBAL);
SAME(DRIVER_ATTACH_HOST, CU_MEM_ATTACH_HOST);
SAME(DRIVER_ATTACH_SINGLE, CU_MEM_ATTACH_SINGLE);
SAME(DRIVER_FUNCTION_MAX_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(DRIVER_FUNCTION_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(DRIVER_FUNCTION_CONSTANT, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(DRIVER_FUNCTION_LOCAL, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(DRIVER_FUNCTION_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(DRIVER_FUNCTION_MAX_DYNAMIC,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(DRIVER_FUNCTION_CLUSTER_X, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
SAME(DRIVER_FUNCTION_CLUSTER_Y, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
SAME(DRIVER_FUNCTION_CLUSTER_Z, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
SAME(DRIVER_FUNCTION_NON_PORTABLE_CLUSTER,
     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

// What the public headers and the core take over as numbers.
SAME(RNL_STREAM_ACCESS_POLICY, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW);
SAME(RNL_STREAM_PRIORITY, CU_STREAM_ATTRIBUTE_PRIORITY);
SAME(RNL_ATTRIBUTE_MAX_BLOCK_THREADS,
     CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(RNL_ATTRIBUTE_L2_SIZE, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(RNL_ATTRIBUTE_SHARED_OPTIN,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);

// --- Structs --------------------------------------------------------------

#define FIELD(ours, field, theirs, other)                                   \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, other), \
                   #ours "." #field)
#define SIZE(ours, theirs) \
    _Static_assert(sizeof(struct ours) == sizeof(theirs), #ours)
// Arrays of theirs may be longer, as what a union holds may be.
#define WITHIN(ours, theirs) \
    _Static_assert(sizeof(struct ours) <= sizeof(theirs), #ours)

SIZE(driver_value, CUstreamBatchMemOpParams);
FIELD(driver_value, operation, CUstreamBatchMemOpParams, operation);
FIELD(driver_value, address, CUstreamBatchMemOpParams, waitValue.address);
FIELD(driver_value, value, CUstreamBatchMemOpParams, waitValue.value);
FIELD(driver_value, flags, CUstreamBatchMemOpParams, waitValue.flags);
FIELD(driver_value, address, CUstreamBatchMemOpParams, writeValue.address);
FIELD(driver_value, value, CUstreamBatchMemOpParams, writeValue.value);
FIELD(driver_value, flags, CUstreamBatchMemOpParams, writeValue.flags);
FIELD(driver_value, alias, CUstreamBatchMemOpParams, waitValue.alias);

SIZE(driver_share, CUipcMemHandle);
_Static_assert(_Alignof(struct driver_share) == _Alignof(CUipcMemHandle),
               "keys are passed by value");

SIZE(driver_copy, CUDA_MEMCPY3D);
FIELD(driver_copy, from_x, CUDA_MEMCPY3D, srcXInBytes);
FIELD(driver_copy, from_y, CUDA_MEMCPY3D, srcY);
FIELD(driver_copy, from_z, CUDA_MEMCPY3D, srcZ);
FIELD(driver_copy, from_level, CUDA_MEMCPY3D, srcLOD);
FIELD(driver_copy, from_type, CUDA_MEMCPY3D, srcMemoryType);
FIELD(driver_copy, from_host, CUDA_MEMCPY3D, srcHost);
FIELD(driver_copy, from_device, CUDA_MEMCPY3D, srcDevice);
FIELD(driver_copy, from_array, CUDA_MEMCPY3D, srcArray);
FIELD(driver_copy, from_pitch, CUDA_MEMCPY3D, srcPitch);
FIELD(driver_copy, from_height, CUDA_MEMCPY3D, srcHeight);
FIELD(driver_copy, to_x, CUDA_MEMCPY3D, dstXInBytes);
FIELD(driver_copy, to_y, CUDA_MEMCPY3D, dstY);
FIELD(driver_copy, to_z, CUDA_MEMCPY3D, dstZ);
FIELD(driver_copy, to_level, CUDA_MEMCPY3D, dstLOD);
FIELD(driver_copy, to_type, CUDA_MEMCPY3D, dstMemoryType);
FIELD(driver_copy, to_host, CUDA_MEMCPY3D, dstHost);
FIELD(driver_copy, to_device, CUDA_MEMCPY3D, dstDevice);
FIELD(driver_copy, to_array, CUDA_MEMCPY3D, dstArray);
FIELD(driver_copy, to_pitch, CUDA_MEMCPY3D, dstPitch);
FIELD(driver_copy, to_height, CUDA_MEMCPY3D, dstHeight);
FIELD(driver_copy, width, CUDA_MEMCPY3D, WidthInBytes);
FIELD(driver_copy, height, CUDA_MEMCPY3D, Height);
FIELD(driver_copy, depth, CUDA_MEMCPY3D, Depth);

SIZE(driver_launch_attribute, CUlaunchAttribute);
FIELD(driver_launch_attribute, id, CUlaunchAttribute, id);
FIELD(driver_launch_attribute, bytes, CUlaunchAttribute, value);
FIELD(driver_launch_attribute, cluster.y, CUlaunchAttribute,
      value.clusterDim.y);
FIELD(driver_launch_attribute, window.base, CUlaunchAttribute,
      value.accessPolicyWindow.base_ptr);
FIELD(driver_launch_attribute, window.size, CUlaunchAttribute,
      value.accessPolicyWindow.num_bytes);
FIELD(driver_launch_attribute, window.hit_ratio, CUlaunchAttribute,
      value.accessPolicyWindow.hitRatio);
FIELD(driver_launch_attribute, window.hit, CUlaunchAttribute,
      value.accessPolicyWindow.hitProp);
FIELD(driver_launch_attribute, window.miss, CUlaunchAttribute,
      value.accessPolicyWindow.missProp);
FIELD(driver_launch_attribute, record.event, CUlaunchAttribute,
      value.programmaticEvent.event);
FIELD(driver_launch_attribute, record.flags, CUlaunchAttribute,
      value.programmaticEvent.flags);
FIELD(driver_launch_attribute, record.at_block_start, CUlaunchAttribute,
      value.programmaticEvent.triggerAtBlockStart);
FIELD(driver_launch_attribute, domain_map.remote_domain, CUlaunchAttribute,
      value.memSyncDomainMap.remote);

SIZE(driver_launch, CUlaunchConfig);
FIELD(driver_launch, block_x, CUlaunchConfig, blockDimX);
FIELD(driver_launch, shared_size, CUlaunchConfig, sharedMemBytes);
FIELD(driver_launch, stream, CUlaunchConfig, hStream);
FIELD(driver_launch, attributes, CUlaunchConfig, attrs);
FIELD(driver_launch, attribute_count, CUlaunchConfig, numAttrs);

// The newer form has two fields more, which the older function does not read.
WITHIN(driver_kernel_node, CUDA_KERNEL_NODE_PARAMS);
FIELD(driver_kernel_node, function, CUDA_KERNEL_NODE_PARAMS, func);
FIELD(driver_kernel_node, grid_x, CUDA_KERNEL_NODE_PARAMS, gridDimX);
FIELD(driver_kernel_node, block_z, CUDA_KERNEL_NODE_PARAMS, blockDimZ);
FIELD(driver_kernel_node, shared_size, CUDA_KERNEL_NODE_PARAMS,
      sharedMemBytes);
FIELD(driver_kernel_node, arguments, CUDA_KERNEL_NODE_PARAMS, kernelParams);
FIELD(driver_kernel_node, extra, CUDA_KERNEL_NODE_PARAMS, extra);

SIZE(driver_fill_node, CUDA_MEMSET_NODE_PARAMS);
FIELD(driver_fill_node, to, CUDA_MEMSET_NODE_PARAMS, dst);
FIELD(driver_fill_node, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
FIELD(driver_fill_node, value, CUDA_MEMSET_NODE_PARAMS, value);
FIELD(driver_fill_node, element_size, CUDA_MEMSET_NODE_PARAMS, elementSize);
FIELD(driver_fill_node, width, CUDA_MEMSET_NODE_PARAMS, width);
FIELD(driver_fill_node, height, CUDA_MEMSET_NODE_PARAMS, height);

WITHIN(driver_host_node, CUDA_HOST_NODE_PARAMS);
FIELD(driver_host_node, function, CUDA_HOST_NODE_PARAMS, fn);
FIELD(driver_host_node, user_data, CUDA_HOST_NODE_PARAMS, userData);

SIZE(driver_values_node, CUDA_BATCH_MEM_OP_NODE_PARAMS);
FIELD(driver_values_node, context, CUDA_BATCH_MEM_OP_NODE_PARAMS, ctx);
FIELD(driver_values_node, count, CUDA_BATCH_MEM_OP_NODE_PARAMS, count);
FIELD(driver_values_node, values, CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray);
FIELD(driver_values_node, flags, CUDA_BATCH_MEM_OP_NODE_PARAMS, flags);

SIZE(driver_edge, CUgraphEdgeData);
FIELD(driver_edge, from_port, CUgraphEdgeData, from_port);
FIELD(driver_edge, to_port, CUgraphEdgeData, to_port);
FIELD(driver_edge, type, CUgraphEdgeData, type);

SIZE(driver_node, CUgraphNodeParams);
FIELD(driver_node, type, CUgraphNodeParams, type);
FIELD(driver_node, kernel, CUgraphNodeParams, kernel);
FIELD(driver_node, kernel.arguments, CUgraphNodeParams, kernel.kernelParams);
FIELD(driver_node, conditional.handle, CUgraphNodeParams, conditional.handle);
FIELD(driver_node, conditional.type, CUgraphNodeParams, conditional.type);
FIELD(driver_node, conditional.size, CUgraphNodeParams, conditional.size);
FIELD(driver_node, conditional.bodies, CUgraphNodeParams,
      conditional.phGraph_out);
FIELD(driver_node, conditional.context, CUgraphNodeParams, conditional.ctx);

// --- Types that functions take: abi_functions.cpp compares the rest -------

_Static_assert(sizeof(CUdeviceptr) == sizeof(uint64_t), "addresses");
_Static_assert(sizeof(CUresult) == sizeof(int), "statuses");
_Static_assert(sizeof(CUdevice) == sizeof(int), "devices");
_Static_assert(sizeof(CUgraphConditionalHandle) == sizeof(uint64_t),
               "conditions");
_Static_assert(sizeof(CUuuid) == 16, "uuids");

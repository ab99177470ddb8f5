// What the backend declares of HIP against the vendor's header: nothing to run,
// it compiles or not.

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <stddef.h>

#include "backends/hip/abi.h"

// --- Numbers --------------------------------------------------------------

#define SAME(ours, theirs) \
    _Static_assert((long long)(ours) == (long long)(theirs), #ours)

SAME(HIP_INVALID_VALUE, hipErrorInvalidValue);
SAME(HIP_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME(HIP_DEINITIALIZED, hipErrorDeinitialized);
SAME(HIP_INVALID_CONFIGURATION, hipErrorInvalidConfiguration);
SAME(HIP_INVALID_DEVICE_FUNCTION, hipErrorInvalidDeviceFunction);
SAME(HIP_NO_DEVICE, hipErrorNoDevice);
SAME(HIP_INVALID_DEVICE, hipErrorInvalidDevice);
SAME(HIP_INVALID_IMAGE, hipErrorInvalidImage);
SAME(HIP_INVALID_CONTEXT, hipErrorInvalidContext);
SAME(HIP_NO_BINARY_FOR_GPU, hipErrorNoBinaryForGpu);
SAME(HIP_INVALID_KERNEL_FILE, hipErrorInvalidKernelFile);
SAME(HIP_INVALID_SOURCE, hipErrorInvalidSource);
SAME(HIP_NOT_FOUND, hipErrorNotFound);
SAME(HIP_NOT_READY, hipErrorNotReady);
SAME(HIP_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
SAME(HIP_LAUNCH_OUT_OF_RESOURCES, hipErrorLaunchOutOfResources);
SAME(HIP_LAUNCH_TIMEOUT, hipErrorLaunchTimeOut);
SAME(HIP_PEER_ACCESS_ALREADY_ENABLED, hipErrorPeerAccessAlreadyEnabled);
SAME(HIP_ASSERT, hipErrorAssert);
SAME(HIP_LAUNCH_FAILURE, hipErrorLaunchFailure);
SAME(HIP_COOPERATIVE_LAUNCH_TOO_LARGE, hipErrorCooperativeLaunchTooLarge);
SAME(HIP_NOT_SUPPORTED, hipErrorNotSupported);
SAME(HIP_STREAM_CAPTURE_IMPLICIT, hipErrorStreamCaptureImplicit);
SAME(HIP_EXTRA_END, HIP_LAUNCH_PARAM_END);
SAME(HIP_COPY_DEFAULT, hipMemcpyDefault);
SAME(HIP_HOST_COHERENT, hipHostMallocCoherent);

SAME(DRIVER_WAIT_GEQ, hipStreamWaitValueGte);
SAME(DRIVER_WAIT_EQ, hipStreamWaitValueEq);
SAME(DRIVER_WAIT_AND, hipStreamWaitValueAnd);
SAME(DRIVER_WAIT_NOR, hipStreamWaitValueNor);
SAME(DRIVER_POINTER_MEMORY_TYPE, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(DRIVER_POINTER_RANGE_START, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(DRIVER_POINTER_RANGE_SIZE, HIP_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(DRIVER_DEVICE_CPU, hipCpuDeviceId);
SAME(DRIVER_STREAM_NON_BLOCKING, hipStreamNonBlocking);
SAME(DRIVER_EVENT_NO_TIMING, hipEventDisableTiming);
SAME(DRIVER_HOST_PORTABLE, hipHostMallocPortable);
SAME(DRIVER_HOST_PORTABLE, hipHostRegisterPortable);
SAME(DRIVER_HOST_MAPPED, hipHostMallocMapped);
SAME(DRIVER_HOST_MAPPED, hipHostRegisterMapped);
SAME(DRIVER_ATTACH_GLOBAL, hipMemAttachGlobal);
SAME(DRIVER_ATTACH_HOST, hipMemAttachHost);
SAME(DRIVER_ATTACH_SINGLE, hipMemAttachSingle);
SAME(DRIVER_FUNCTION_MAX_THREADS, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(DRIVER_FUNCTION_SHARED, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(DRIVER_FUNCTION_CONSTANT, HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(DRIVER_FUNCTION_LOCAL, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(DRIVER_FUNCTION_REGISTERS, HIP_FUNC_ATTRIBUTE_NUM_REGS);
SAME(DRIVER_FUNCTION_MAX_DYNAMIC,
     HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

// --- Structs --------------------------------------------------------------

#define SIZE(ours, theirs) \
    _Static_assert(sizeof(struct ours) == sizeof(theirs), #ours)
#define FIELD(ours, field, theirs, other)                                   \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, other), \
                   #ours "." #field)

SIZE(driver_share, hipIpcMemHandle_t);

SIZE(hip_copy, hipMemcpy3DParms);
FIELD(hip_copy, from_array, hipMemcpy3DParms, srcArray);
FIELD(hip_copy, from_x, hipMemcpy3DParms, srcPos.x);
FIELD(hip_copy, from_z, hipMemcpy3DParms, srcPos.z);
FIELD(hip_copy, from.pointer, hipMemcpy3DParms, srcPtr.ptr);
FIELD(hip_copy, from.pitch, hipMemcpy3DParms, srcPtr.pitch);
FIELD(hip_copy, from.width, hipMemcpy3DParms, srcPtr.xsize);
FIELD(hip_copy, from.height, hipMemcpy3DParms, srcPtr.ysize);
FIELD(hip_copy, to_array, hipMemcpy3DParms, dstArray);
FIELD(hip_copy, to_x, hipMemcpy3DParms, dstPos.x);
FIELD(hip_copy, to.pointer, hipMemcpy3DParms, dstPtr.ptr);
FIELD(hip_copy, width, hipMemcpy3DParms, extent.width);
FIELD(hip_copy, depth, hipMemcpy3DParms, extent.depth);
FIELD(hip_copy, kind, hipMemcpy3DParms, kind);

SIZE(hip_kernel_node, hipKernelNodeParams);
FIELD(hip_kernel_node, block, hipKernelNodeParams, blockDim);
FIELD(hip_kernel_node, extra, hipKernelNodeParams, extra);
FIELD(hip_kernel_node, function, hipKernelNodeParams, func);
FIELD(hip_kernel_node, grid, hipKernelNodeParams, gridDim);
FIELD(hip_kernel_node, arguments, hipKernelNodeParams, kernelParams);
FIELD(hip_kernel_node, shared_size, hipKernelNodeParams, sharedMemBytes);

SIZE(hip_window, hipAccessPolicyWindow);
FIELD(hip_window, base, hipAccessPolicyWindow, base_ptr);
FIELD(hip_window, hit, hipAccessPolicyWindow, hitProp);
FIELD(hip_window, hit_ratio, hipAccessPolicyWindow, hitRatio);
FIELD(hip_window, miss, hipAccessPolicyWindow, missProp);
FIELD(hip_window, size, hipAccessPolicyWindow, num_bytes);

SIZE(hip_fill_node, hipMemsetParams);
FIELD(hip_fill_node, to, hipMemsetParams, dst);
FIELD(hip_fill_node, element_size, hipMemsetParams, elementSize);
FIELD(hip_fill_node, height, hipMemsetParams, height);
FIELD(hip_fill_node, pitch, hipMemsetParams, pitch);
FIELD(hip_fill_node, value, hipMemsetParams, value);
FIELD(hip_fill_node, width, hipMemsetParams, width);

SIZE(driver_host_node, hipHostNodeParams);
FIELD(driver_host_node, function, hipHostNodeParams, fn);
FIELD(driver_host_node, user_data, hipHostNodeParams, userData);

#if HIP_VERSION >= 60400000
SIZE(driver_value, hipStreamBatchMemOpParams);
FIELD(driver_value, address, hipStreamBatchMemOpParams, waitValue.address);
FIELD(driver_value, value, hipStreamBatchMemOpParams, waitValue.value);
FIELD(driver_value, flags, hipStreamBatchMemOpParams, waitValue.flags);
SIZE(driver_values_node, hipBatchMemOpNodeParams);
FIELD(driver_values_node, values, hipBatchMemOpNodeParams, paramArray);
#endif

// --- Attributes of devices, as hip.c has them ------------------------------

SAME(56, hipDeviceAttributeMaxThreadsPerBlock);
SAME(26, hipDeviceAttributeMaxBlockDimX);
SAME(29, hipDeviceAttributeMaxGridDimX);
SAME(74, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME(83, hipDeviceAttributeTotalConstantMemory);
SAME(87, hipDeviceAttributeWarpSize);
SAME(71, hipDeviceAttributeMaxRegistersPerBlock);
SAME(5, hipDeviceAttributeClockRate);
SAME(63, hipDeviceAttributeMultiprocessorCount);
SAME(16, hipDeviceAttributeIntegrated);
SAME(3, hipDeviceAttributeCanMapHostMemory);
SAME(8, hipDeviceAttributeConcurrentKernels);
SAME(19, hipDeviceAttributeL2CacheSize);
SAME(57, hipDeviceAttributeMaxThreadsPerMultiProcessor);
SAME(85, hipDeviceAttributeUnifiedAddressing);
SAME(69, hipDeviceAttributePciDomainID);
SAME(23, hipDeviceAttributeComputeCapabilityMajor);
SAME(61, hipDeviceAttributeComputeCapabilityMinor);
SAME(76, hipDeviceAttributeSharedMemPerMultiprocessor);
SAME(24, hipDeviceAttributeManagedMemory);
SAME(9, hipDeviceAttributeConcurrentManagedAccess);
SAME(10, hipDeviceAttributeCooperativeLaunch);
SAME(75, hipDeviceAttributeSharedMemPerBlockOptin);
SAME(25, hipDeviceAttributeMaxBlocksPerMultiProcessor);
SAME(1, hipDeviceAttributeAccessPolicyMaxWindowSize);
SAME(10013, hipDeviceAttributeCanUseStreamWaitValue);

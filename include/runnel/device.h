// Devices: hardware that can be enumerated without touching it.
//
// Listing devices creates no vendor context and uses no device memory. Device
// handles are valid for the life of the process and need no release.
//
// The environment's RUNNEL_DEVICES, a comma-separated list such as
// `cpu,cuda:1,cuda:0`, hides devices that it does not name and orders the rest;
// RUNNEL_CPU_DEVICES=n gives n virtual cpu devices that share the cores.
#ifndef RUNNEL_DEVICE_H
#define RUNNEL_DEVICE_H

#include <runnel/status.h>

// Properties of a device. 0 or an empty string means unknown or not applicable.
typedef struct rnl_device_info {
    size_t struct_size;
    char name[128];            // as the vendor or the processor gives it
    char api[16];              // "cpu", "cuda", "hip"
    uint32_t index;            // within its api, as in RUNNEL_DEVICES
    uint8_t uuid[16];          // stable across reboots where the vendor's is
    char pci[16];              // "0000:65:00.0"
    int compute_major, compute_minor;
    int driver_version;        // the vendor's own number; cpu: RNL_VERSION
    uint64_t memory_size;      // bytes; cpu: physical, or the cgroup's limit
    // --- execution
    uint32_t multiprocessors;  // cpu: cores by affinity and cgroup quota
    uint32_t clock_khz;        // highest core clock
    uint32_t warp_size;
    uint32_t max_block_threads;
    rnl_dim3 max_block;
    rnl_dim3 max_grid;
    uint32_t max_cluster_blocks;   // 1 where clusters do not exist
    // --- memory on the chip, bytes
    uint64_t shared_per_block;     // without opt-in
    uint64_t shared_per_block_max; // the most a launch can have
    uint64_t constant_size;
    uint64_t l1_size, l2_size, l3_size;
    // --- streams
    int priority_least, priority_greatest;  // greatest is the smaller number
} rnl_device_info;

// Single attributes, by number: the same facts as the info, plus those that
// only some devices have. Names, numbers and meaning follow CUdevice_attribute,
// all of whose numbers can be asked for, also without a name here. A cpu
// answers the ones of CUDA 13.0, with 0 for missing abilities, but for buses
// and the memory's own clock (docs/backends/cpu.md).
typedef enum rnl_attribute {
    RNL_ATTRIBUTE_MAX_BLOCK_THREADS = 1,
    RNL_ATTRIBUTE_MAX_BLOCK_X = 2,
    RNL_ATTRIBUTE_MAX_BLOCK_Y = 3,
    RNL_ATTRIBUTE_MAX_BLOCK_Z = 4,
    RNL_ATTRIBUTE_MAX_GRID_X = 5,
    RNL_ATTRIBUTE_MAX_GRID_Y = 6,
    RNL_ATTRIBUTE_MAX_GRID_Z = 7,
    RNL_ATTRIBUTE_SHARED_PER_BLOCK = 8,
    RNL_ATTRIBUTE_CONSTANT_SIZE = 9,
    RNL_ATTRIBUTE_WARP_SIZE = 10,
    RNL_ATTRIBUTE_REGISTERS_PER_BLOCK = 12,      // cpu: 65536, of 4 bytes
    RNL_ATTRIBUTE_CLOCK_KHZ = 13,
    RNL_ATTRIBUTE_MULTIPROCESSORS = 16,
    RNL_ATTRIBUTE_INTEGRATED = 18,
    RNL_ATTRIBUTE_CAN_MAP_HOST = 19,
    RNL_ATTRIBUTE_CONCURRENT_KERNELS = 31,
    RNL_ATTRIBUTE_L2_SIZE = 38,
    RNL_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR = 39,
    RNL_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    RNL_ATTRIBUTE_COMPUTE_MAJOR = 75,
    RNL_ATTRIBUTE_COMPUTE_MINOR = 76,
    RNL_ATTRIBUTE_SHARED_PER_MULTIPROCESSOR = 81,
    RNL_ATTRIBUTE_MANAGED_MEMORY = 83,
    RNL_ATTRIBUTE_COOPERATIVE = 95,
    RNL_ATTRIBUTE_SHARED_OPTIN = 97,
    RNL_ATTRIBUTE_BLOCKS_PER_MULTIPROCESSOR = 106,
    RNL_ATTRIBUTE_ACCESS_WINDOW_MAX = 109,       // bytes; cpu: 0
    RNL_ATTRIBUTE_CLUSTERS = 120,
} rnl_attribute;

RNL_BEGIN_DECLS

// How many devices `api` has: "cpu", "cuda", "hip", "gpu" (all but cpu) or NULL
// for all. An absent api has 0 devices; that is no error. RNL_ERROR_NOT_FOUND
// for a word that is no api. Stands for cuDeviceGetCount.
RNL_API rnl_status rnl_device_count(const char *api, size_t *out_count);

// Why `api` has no device: which libraries were looked for, every path tried,
// the driver's answer. An empty string when `api` has a device. Static string.
RNL_API rnl_status rnl_api_reason(const char *api, const char **out_reason);

// The names of every api this library was built with, in order of preference:
// `index` from 0; RNL_ERROR_NOT_FOUND past the end.
RNL_API rnl_status rnl_api_name(size_t index, const char **out_name);

// True when a device that is not the cpu is present.
RNL_API rnl_status rnl_has_accelerator(bool *out_present);

// Device `index` of `api` (as for rnl_device_count; NULL counts through all,
// best first). RNL_ERROR_NO_DEVICE when there is none, with the reason.
RNL_API rnl_status rnl_device_get(const char *api, size_t index,
                                  rnl_device *out_device);

// The best device present: the first GPU, else the cpu.
RNL_API rnl_status rnl_device_default(rnl_device *out_device);

// Fills `*out_info`, whose struct_size the caller has set to
// sizeof(rnl_device_info).
RNL_API rnl_status rnl_device_get_info(rnl_device device,
                                       rnl_device_info *out_info);

// One attribute. RNL_ERROR_UNSUPPORTED, with the reason, where the device has
// no such thing. Stands for cuDeviceGetAttribute.
RNL_API rnl_status rnl_device_attribute(rnl_device device, rnl_attribute id,
                                        int64_t *out_value);

RNL_END_DECLS

#endif

// The environment, read in one place, once.
#pragma once

#include <runnel/base.h>

struct config {
    const char *devices;       // RUNNEL_DEVICES; NULL: all
    unsigned cpu_devices;      // RUNNEL_CPU_DEVICES; at least 1
    unsigned threads;          // RUNNEL_THREADS; 0: as many as there are cores
    uint64_t spin_ns;          // RUNNEL_SPIN_US
    int log_level;             // RUNNEL_LOG
    bool blocking;             // RUNNEL_BLOCKING
    const char *compiler;      // RUNNEL_CC; NULL: look for runnel-cc
    const char *cuda;          // RUNNEL_CUDA: libcuda; NULL: the usual ones
    const char *nvrtc;         // RUNNEL_NVRTC; likewise
    const char *hip;           // RUNNEL_HIP: libamdhip64; NULL: the usual ones
    const char *hiprtc;        // RUNNEL_HIPRTC; likewise
    const char *hip_compiler;  // RUNNEL_HIP_CC; NULL: look for runnel-hip-cc
    const char *staging;       // RUNNEL_STAGING; for measurements only
    const char *cache_dir;     // RUNNEL_CACHE_DIR; NULL: the default place
    uint64_t cache_size;       // RUNNEL_CACHE_SIZE; bytes
    bool cache_disabled;       // RUNNEL_CACHE_DISABLE
    uint64_t specialise_ns;    // RUNNEL_SPECIALISE; UINT64_MAX: never
    bool contain;              // RUNNEL_CONTAIN; false only when it is 0
    uint64_t kernel_limit_ns;  // RUNNEL_KERNEL_LIMIT; 0: none
};

// Read at the first call, the same for ever after.
const struct config *config_get(void);

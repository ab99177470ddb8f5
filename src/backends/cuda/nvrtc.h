// NVRTC: the vendor's compiler, a library that is looked for at first use.
//
// The library's place is found without loading the library, because loading
// takes tens of milliseconds. A start with a warm cache needs only the
// library's name.
#pragma once

#include "base/text.h"

#include <runnel/status.h>

#define NVRTC_PATH_SIZE 1024

struct nvrtc_place {
    char path[NVRTC_PATH_SIZE];     // for dlopen
    char include[NVRTC_PATH_SIZE];  // the toolkit's headers; "" for none
};

// Finds the library and its headers. If several versions are found, prefers a
// major version that is not above the driver's (12080 for 12.8). `beside`: a
// file whose folder is searched as well, or NULL.
// RNL_ERROR_COMPILER_UNAVAILABLE lists all names and folders that were tried.
rnl_status nvrtc_find(int driver_version, const char *beside,
                      struct nvrtc_place *out_place);

struct nvrtc {
#define SYMBOL(name, vendor, need, type, parameters) type (*name) parameters;
#include "backends/cuda/nvrtc.def"
#undef SYMBOL
    int major, minor;
    int known[64];  // compute capabilities, 90 for 9.0, ascending
    int known_count;
};

// Loads the library, once for each path. The library stays loaded.
rnl_status nvrtc_load(const char *path, const struct nvrtc **out_nvrtc);

// The value of -arch= for a device: code for exactly the device. If NVRTC is
// older than the device, PTX of the newest capability below that NVRTC knows.
rnl_status nvrtc_target(const struct nvrtc *nvrtc, int major, int minor,
                        char word[32]);

// Rewrites NVRTC's messages in the form of other compilers, so that editors
// find the place: "kernel.cu(3): error: …" becomes "kernel.cu:3:12: error: …".
void nvrtc_translate(const char *log, struct text *out_log);

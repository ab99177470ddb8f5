// NVRTC: the vendor's compiler, a library that is looked for at first use.
//
// Where it is is learned without loading it, which takes tens of milliseconds:
// a start with a warm cache needs no more than its name.
#pragma once

#include "base/text.h"

#include <runnel/status.h>

#define NVRTC_PATH_SIZE 1024

struct nvrtc_place {
    char path[NVRTC_PATH_SIZE];     // what dlopen is given
    char include[NVRTC_PATH_SIZE];  // the toolkit's headers; "" for none
};

// Finds the library and its headers; its version need not be above the
// driver's (12080 for 12.8) if there is a choice. `beside`: a file in a folder
// to look into as well, or NULL. RNL_ERROR_COMPILER_UNAVAILABLE lists all that
// was tried.
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

// Loads it, once for each path; it stays loaded.
rnl_status nvrtc_load(const char *path, const struct nvrtc **out_nvrtc);

// The word for -arch= that suits a device: the code of just that, or, where
// NVRTC is older than the device, PTX of the newest that it knows below.
rnl_status nvrtc_target(const struct nvrtc *nvrtc, int major, int minor,
                        char word[32]);

// NVRTC's messages as other compilers write them, so that editors find the
// place: "kernel.cu(3): error: …" becomes "kernel.cu:3:12: error: …".
void nvrtc_translate(const char *log, struct text *out_log);

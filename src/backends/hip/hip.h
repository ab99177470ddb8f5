// The hip backend: symbols and numbers of libamdhip64, and adapters for the
// functions that have another shape than the driver's table.
//
// HIP has no contexts: a thread has a current device. A context's handle is the
// number of its device plus one, and making it current sets the device.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/hip/abi.h"

// Filled once, before any adapter is called.
extern struct hip_functions hip;
extern int hip_version;  // 50221153 for 5.2.21153

// --- Adapters ----------------------------------------------------------------

// Each puts its functions into the table.
void hip_adapt_contexts(struct driver_functions *call);
void hip_adapt_streams(struct driver_functions *call);
void hip_adapt_memory(struct driver_functions *call);
void hip_adapt_modules(struct driver_functions *call);
void hip_adapt_graphs(struct driver_functions *call);

// 0, or why no device of Runnel's is current for this thread: then a call fails
// with this code instead of being about another device.
int hip_refusal(void);

// Has the calls of current_device.def fail so. Comes after the adapters.
void hip_guard_calls(struct driver_functions *call);

// Writes `count` operations so that HIP does what the table means by them, in
// up to twice as many; returns 0 and their number, or a code.
int hip_values_of(const struct driver_value *values, unsigned count,
                  struct driver_value *out, unsigned *out_count);

// An attribute of a launch in HIP's form: a window has another layout.
struct driver_launch_attribute
hip_attribute_of(const struct driver_launch_attribute *attribute);

extern const struct driver_points hip_points;
extern const struct image_vendor hip_image;

// A copy in HIP's form, with a pitch and a height also where one row is copied.
struct hip_copy hip_copy_of(const struct driver_copy *copy);

// --- Kernels -----------------------------------------------------------------

struct hip_target {
    char arch[256];  // "gfx90a:sramecc+:xnack-"
};

// The target of a device; arch is "" if the library does not tell.
rnl_status hip_target_of(int device, struct hip_target *out_target);

// All that the output depends on besides the source, as text.
rnl_status hip_identity(const struct hip_target *target, char *text,
                        size_t size);
rnl_status hip_compiler_info(const struct hip_target *target,
                             rnl_compiler_info *out_info);
// Compiles to a binary as in image.h.
rnl_status hip_compile(const struct hip_target *target,
                       const struct source *source,
                       struct compiled_binary *out_binary);
// The reason why sources cannot be compiled; or "".
const char *hip_compile_reason(void);

// --- Loading -----------------------------------------------------------------

// Fills in the functions and the number of devices, or the reason why no device
// can be used. Called once.
void hip_load(struct driver *driver);

// Opens the first library of `names` that exists: by the dynamic loader, in
// $ROCM_PATH/lib or in /opt/rocm/lib; see dynlib_open.
void *hip_open(const char *const *names, struct text *tried);

// The feature that is missing without an optional symbol, by the vendor's name
// of the symbol; "" if the library has the symbol.
const char *hip_missing(const char *vendor);

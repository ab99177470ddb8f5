// A vendor's driver as the shared backend sees it: a table of functions, and
// the differences between vendors as data.
#pragma once

#include "backends/cudalike/driver/driver_abi.h"
#include "backends/cudalike/driver/image.h"

#include <runnel/runnel.h>

// --- The table -------------------------------------------------------------

#define FUNCTION(name, parameters) typedef int driver_##name##_fn parameters;
#include "backends/cudalike/driver/functions.def"
#undef FUNCTION

struct driver_functions {
#define FUNCTION(name, parameters) driver_##name##_fn *name;
#include "backends/cudalike/driver/functions.def"
#undef FUNCTION
};

// Attributes of devices that the shared backend asks for, in a vendor's
// numbers; -1 if the vendor has none.
struct driver_attributes {
    int compute_major, compute_minor, multiprocessors, clock_khz, warp_size;
    int max_block_threads, max_block_x, max_block_y, max_block_z;
    int max_grid_x, max_grid_y, max_grid_z;
    int shared_per_block, shared_optin, constant_size, l2_size;
    int cooperative, clusters, managed, pci_domain;
    int concurrent_managed, wait_value_nor, host_register, flush_writes;
    int unified_addressing;
    int wait_value;  // -1: each device has stream memory operations
};

// Signals between a stream and the host, by words of page-locked memory at the
// same address for both.
struct driver_points {
    // Has the device set the word to the value behind the work that the stream
    // was given so far.
    int (*announce)(const struct driver_functions *call, void *stream,
                    uint64_t word, uint32_t value);
    // Has the stream wait until the word has reached the value. The word may
    // wrap around.
    int (*await)(const struct driver_functions *call, void *stream,
                 uint64_t word, uint32_t value);
};

// A vendor's driver. Filled once, when its devices are counted.
struct driver {
    struct driver_functions call;
    const struct driver_points *points;  // NULL: the driver is too old
    const char *api;            // "cuda", "hip"
    const struct driver_attributes *attributes;
    int version;                // as reported by the driver
    bool handles_suffice;       // see handle_enter
    size_t device_count;
    char reason[2048];          // if no device is usable; or ""
    // Runnel's status for a vendor's code, and whether the code means that the
    // context is lost.
    rnl_status (*status)(int code);
    bool (*is_sticky)(int code);
    int (*attribute_number)(rnl_attribute id);  // -1: the vendor has none
    // The form of the vendor's binaries, and a function that reads a binary
    // without the driver: kernels and variables, as far as the form tells. An
    // assembly ends in a zero.
    const struct image_vendor *image;
    void (*describe)(enum image_form form, const void *data, size_t size,
                     struct image_maker *maker);
    // Why the driver lists no kernels, tells no parameters, and has no IF and
    // WHILE nodes, where it lacks the functions for that.
    const char *names_lack, *parameters_lack, *conditions_lack;
    // Known without a context, so that listing devices needs none. A context
    // that finds other limits clamps.
    int priority_least, priority_greatest;
    int not_ready;              // code of unfinished work
    int captures;               // code of a default stream beside a capture
    int out_of_memory;          // code of a call that lacks memory
    int peer_enabled;           // code of access enabled before
    uintptr_t extra_end;        // ends the list with a launch's packed values
};

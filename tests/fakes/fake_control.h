// What tests may ask of the fake driver and tell it, beside the environment:
//
//   RUNNEL_FAKE_DEVICES=n     so many devices; 1 if unset, 0: cuInit fails
//   RUNNEL_FAKE_VERSION=n     an older driver: 11040 lacks what 11.4 lacked
//   RUNNEL_FAKE_HIDE=a,b      symbols that the driver does not have
//   RUNNEL_FAKE_FAIL=a:n:c    the n-th call of a gives c; several, by commas;
//                             a may be * for any function; n may end in +:
//                             that call and all behind it
//   RUNNEL_FAKE_MEMORY=n      bytes of each device; 4 GiB if unset
//   RUNNEL_FAKE_PROTECT=1     page-locked memory is gone after its exit handler
//   RUNNEL_FAKE_THREADS=n     of the cpu context behind a device; 2 if unset
//   RUNNEL_FAKE_CACHE_DIR=p   where its compiler caches
//   RUNNEL_FAKE_LOG=level     RUNNEL_LOG of the library inside
//
// Found by dlsym in the fake library: fake_control_live and so on.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <runnel/cpu.h>

// What is alive in the fake driver.
struct fake_live {
    size_t contexts;  // references to primary contexts
    size_t streams, events, modules, graphs, execs;
    size_t blocks;    // of memory: device, managed, host, registered
    size_t bytes;     // in them
    size_t leaked;    // objects that were alive when their context went
    size_t misuses;   // what the real driver leaves undefined
    size_t packed;    // launches so far whose values were packed
};

typedef void fake_live_fn(struct fake_live *out_live);

// The n-th call of `name` from now on, 1 for the next, gives `code`; n = 0
// takes the rule back. `name` "*": of any function. `then` 1: and all behind;
// -m: and the m-th call behind that.
typedef void fake_fail_fn(const char *name, size_t n, int code, int then);

// The next call of `name` first calls a function, which may hold it.
typedef void fake_meet_fn(const char *name, void (*function)(void *argument),
                          void *argument);

// How often `name` was called; "*": all functions together.
typedef size_t fake_calls_fn(const char *name);

// How many injected failures were met.
typedef size_t fake_failed_fn(void);

// Breaks a device: from now on it gives the sticky `code`. 0: the device is as
// in a new process, which is all that mends one of HIP; nobody uses it.
typedef void fake_break_fn(int device, int code);

// Others begin or end a capture of a stream; what they do meanwhile is not
// modelled. 1 when it was valid up to its end.
typedef int fake_capture_fn(void *stream, int begins);

// The type of a parameter of which the driver tells that it has no bytes, as
// of an array without elements in a struct.
#define FAKE_NO_BYTES "no bytes"

// A C function as a kernel of a fake image.
struct fake_kernel {
    const char *name;
    rnl_native_fn function;
    size_t parameter_count;
    const rnl_parameter *parameters;
};

// A binary that holds `count` C functions, to be loaded in this process. The
// array must stay; the image is to be freed.
typedef void *fake_image_fn(const struct fake_kernel *kernels, size_t count,
                            size_t *out_size);

// The attributes of the last call of cuLaunchKernelEx, as CUlaunchAttribute has
// them: copies `most` at most, and tells how many there were.
typedef size_t fake_attributes_fn(void *out, size_t most);

// Runs a function in the order of a stream, on a thread: for fakes of libraries
// that put work of their own on streams. Not 0: there is no such stream.
typedef int fake_host_fn(void *stream, void (*function)(void *argument),
                         void *argument);

// The last words about a misuse, or "".
typedef const char *fake_complaint_fn(void);

// Runnel: the types and constants that every other header uses.
//
// Conventions of the whole library (each header adds only what differs):
//
//   Handles    Objects are opaque handles: an index and a generation, never an
//              address. Every call checks every handle in every build. A dead,
//              foreign, wrong-type or never-valid handle, and NULL, give
//              RNL_ERROR_INVALID_HANDLE; nothing crashes.
//   Ownership  `create`, `compile`, `load`, `wrap`, `open` give the caller one
//              reference, `retain` adds one (beyond 1,048,575 of an object:
//              RNL_ERROR_OUT_OF_RANGE), `release` drops one;
//              release(NULL) is a no-op that succeeds. When the last reference
//              of the caller is gone the handle is dead, but work in flight and
//              dependent objects keep alive what each uses (a stream keeps its
//              context, whose handle stays valid: <runnel/context.h>).
//   Results    Every call returns an `rnl_status`. Results come last, through
//              `out_…`, and are written only on success.
//   Blocking   `rnl_enqueue_…` is asynchronous and takes the stream first;
//              nothing else is asynchronous. Only functions with `synchronize`
//              or `wait` in their name wait for a device, and those that have
//              no `enqueue` in it. `query` never blocks.
//   Options    Structs whose first field is `struct_size`, made by a macro of
//              the same name in capitals. Zero is the default of every field;
//              NULL for the struct means all defaults.
//   Units      Bytes are `size_t`; time is `uint64_t …_ns`. A size of zero
//              succeeds and does nothing.
//   Threads    Every call may be made from any thread at any time, except from
//              inside a host function, a native kernel, a deleter or a log
//              callback (RNL_ERROR_NOT_PERMITTED). Host functions, destroy
//              functions and deleters may release objects. A call that meets
//              another thread's last release of its object works or
//              returns RNL_ERROR_INVALID_HANDLE.
//   Strings    UTF-8, zero-terminated. Input strings are copied unless a field
//              says otherwise. Returned strings live as long as their object.
//   fork       In a child process, calls on the parent's objects return
//              RNL_ERROR_FORKED; a new cpu context may be opened there.
#ifndef RUNNEL_BASE_H
#define RUNNEL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RNL_API __attribute__((visibility("default")))
#else
#define RNL_API
#endif

#ifdef __cplusplus
#define RNL_BEGIN_DECLS extern "C" {
#define RNL_END_DECLS }
#else
#define RNL_BEGIN_DECLS
#define RNL_END_DECLS
#endif

RNL_BEGIN_DECLS

// --- The objects of the library, by family ---------------------------------

typedef struct rnl_device_handle *rnl_device;      // hardware, not opened
typedef struct rnl_context_handle *rnl_context;    // an opened device
typedef struct rnl_stream_handle *rnl_stream;      // an ordered queue of work
typedef struct rnl_event_handle *rnl_event;        // a point in a stream
typedef struct rnl_buffer_handle *rnl_buffer;      // memory with an owner
typedef struct rnl_module_handle *rnl_module;      // compiled code, loaded
typedef struct rnl_function_handle *rnl_function;  // one kernel of a module
typedef struct rnl_graph_handle *rnl_graph;        // work as nodes and edges
typedef struct rnl_graph_exec_handle *rnl_graph_exec;  // ready to be launched
typedef struct rnl_node_handle *rnl_node;          // of a graph; not an object

// --- Small values ----------------------------------------------------------

// Three extents, x fastest. In a launch a missing (zero) y or z counts as 1,
// so `{256}` is a legal block; x must be given.
typedef struct rnl_dim3 {
    uint32_t x, y, z;
} rnl_dim3;

// The elements of a buffer, and those that a kernel's pointer points to. A
// launch compares the two: <runnel/buffer.h>.
typedef enum rnl_element {
    RNL_ELEMENT_UNKNOWN = 0,  // fits everything
    RNL_ELEMENT_INT8 = 1,     // bytes, also bool: fit everything
    RNL_ELEMENT_UINT8 = 2,
    RNL_ELEMENT_INT16 = 3,    // an integer fits the other one of its size
    RNL_ELEMENT_UINT16 = 4,
    RNL_ELEMENT_INT32 = 5,
    RNL_ELEMENT_UINT32 = 6,
    RNL_ELEMENT_INT64 = 7,
    RNL_ELEMENT_UINT64 = 8,
    RNL_ELEMENT_FLOAT16 = 9,
    RNL_ELEMENT_BFLOAT16 = 10,
    RNL_ELEMENT_FLOAT32 = 11,
    RNL_ELEMENT_FLOAT64 = 12,
} rnl_element;

// A time limit that never ends.
#define RNL_FOREVER UINT64_MAX

// A size in bytes: the rest of a buffer from the offset on, resolved by the
// call that is given it. Copies and fills of one dimension (also as nodes of
// graphs), slices, prefetch, advice and access windows take it.
#define RNL_WHOLE SIZE_MAX

// Called once, on any thread, when Runnel is through with a borrowed object: a
// wrapped buffer's memory and its size in bytes, or an adopted context and 0.
// The function may not call Runnel; a refused call leaves rnl_last_error() of
// the call around as it was.
typedef void (*rnl_deleter_fn)(void *pointer, size_t size, void *user_data);

RNL_END_DECLS

// --- Option literals -------------------------------------------------------
//
// RNL_STREAM_OPTIONS(.priority = -1) and its kin make a pointer to a struct
// with `struct_size` set, good until the end of the full expression (in C, of
// the enclosing block). In C++ they need designated initialisers: C++20, or gcc
// and clang in C++17; name the fields in the order of the struct.

#ifdef __cplusplus
#include <runnel/literal.hpp>
#else
#define RNL_LITERAL(type, ...) \
    (&(type){.struct_size = sizeof(type), __VA_ARGS__})
#endif

#endif

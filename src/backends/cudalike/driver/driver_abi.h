// The structs and numbers of a vendor's driver, declared here so that no SDK is
// needed: facts of the vendors' interface. A test compares them with the
// vendor's own header if that header is present. Handles are `void *`, device
// addresses `uint64_t`.
#pragma once

#include <stddef.h>
#include <stdint.h>

// --- Structs that the functions take ---------------------------------------

// An operation of a batch of stream memory operations.
struct driver_value {
    int operation;  // DRIVER_WAIT32 …
    uint64_t address;
    uint64_t value;
    unsigned flags;
    uint64_t alias, reserved;
};

enum {
    DRIVER_WAIT32 = 1,
    DRIVER_WRITE32 = 2,
    DRIVER_WAIT64 = 4,
    DRIVER_WRITE64 = 5,
};

// Flags of a wait, and of a write.
enum {
    DRIVER_WAIT_GEQ = 0,
    DRIVER_WAIT_EQ = 1,
    DRIVER_WAIT_AND = 2,
    DRIVER_WAIT_NOR = 3,
    DRIVER_WAIT_FLUSH = 1 << 30,
    DRIVER_WRITE_NO_BARRIER = 1,
};

// The driver's interprocess handle; passed by value.
struct driver_share {
    unsigned char bytes[64];
};

enum { DRIVER_SHARE_LAZY_PEER = 1 };  // memory_open's only flag

struct driver_copy {
    size_t from_x, from_y, from_z, from_level;
    int from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array, *reserved0;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_level;
    int to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array, *reserved1;
    size_t to_pitch, to_height;
    size_t width, height, depth;
};

enum { DRIVER_MEMORY_HOST = 1, DRIVER_MEMORY_UNIFIED = 4 };
enum {
    DRIVER_POINTER_MEMORY_TYPE = 2,
    DRIVER_POINTER_RANGE_START = 11,  // in the address's allocation
    DRIVER_POINTER_RANGE_SIZE = 12,
};
enum { DRIVER_DEVICE_CPU = -1 };

struct driver_launch_attribute {
    int id, padding;
    union {
        unsigned char bytes[64];
        int number;
        struct {
            unsigned x, y, z;
        } cluster;
        struct {
            void *base;
            size_t size;
            float hit_ratio;
            int hit, miss;
        } window;
        struct {
            unsigned char default_domain, remote_domain;
        } domain_map;
        struct {
            void *event;
            int flags, at_block_start;  // at_block_start: programmatic events
        } record;
    };
};

enum {
    DRIVER_LAUNCH_ACCESS_POLICY = 1,
    DRIVER_LAUNCH_COOPERATIVE = 2,
    DRIVER_LAUNCH_SYNC_POLICY = 3,
    DRIVER_LAUNCH_CLUSTER = 4,
    DRIVER_LAUNCH_CLUSTER_SCHEDULING = 5,
    DRIVER_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6,
    DRIVER_LAUNCH_PROGRAMMATIC_EVENT = 7,
    DRIVER_LAUNCH_PRIORITY = 8,
    DRIVER_LAUNCH_DOMAIN_MAP = 9,
    DRIVER_LAUNCH_DOMAIN = 10,
    DRIVER_LAUNCH_PREFERRED_CLUSTER = 11,
    DRIVER_LAUNCH_COMPLETION_EVENT = 12,
    DRIVER_LAUNCH_CARVEOUT = 14,
};

// Keys before a launch's packed values and their size, and the end mark.
#define DRIVER_EXTRA_VALUES 1
#define DRIVER_EXTRA_SIZE 2

struct driver_launch {
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_size;
    void *stream;
    struct driver_launch_attribute *attributes;
    unsigned attribute_count;
};

struct driver_kernel_node {
    void *function;
    unsigned grid_x, grid_y, grid_z;
    unsigned block_x, block_y, block_z;
    unsigned shared_size;
    void **arguments, **extra;
};

struct driver_fill_node {
    uint64_t to;
    size_t pitch;
    unsigned value, element_size;
    size_t width, height;
};

struct driver_host_node {
    void (*function)(void *user_data);
    void *user_data;
};

struct driver_values_node {
    void *context;
    unsigned count;
    struct driver_value *values;
    unsigned flags;
};

// Only the members for conditional nodes and kernels.
struct driver_node {
    int type;
    int reserved0[3];
    union {
        long long padding[29];
        struct driver_kernel_node kernel;
        struct {
            uint64_t handle;
            int type;
            unsigned size;
            void **bodies;  // out
            void *context;
        } conditional;
    };
    long long reserved2;
};

// The properties of an edge beyond the order. With a programmatic edge a kernel
// may begin when the blocks of the kernel before have ended, or earlier if
// those blocks allow. The kernel itself waits for the results of the kernel
// before.
struct driver_edge {
    unsigned char from_port, to_port, type, reserved[5];
};

enum {
    DRIVER_PORT_PROGRAMMATIC = 1,
    DRIVER_EDGE_PROGRAMMATIC = 1,
};

enum { DRIVER_LINK_ASSEMBLY = 1 };  // the only kind of input

enum {
    DRIVER_NODE_KERNEL = 0,
    DRIVER_NODE_CONDITIONAL = 13,
    DRIVER_CONDITION_IF = 0,
    DRIVER_CONDITION_WHILE = 1,
    DRIVER_CONDITION_SWITCH = 2,
};

// --- Numbers that are the same for every vendor ------------------------------

enum {
    DRIVER_STREAM_NON_BLOCKING = 1,
    DRIVER_STREAM_SPECIAL_MOST = 2,  // up to here: a default stream's handle
    DRIVER_STREAM_PER_THREAD = 2,    // the calling thread's default stream
    DRIVER_EVENT_NO_TIMING = 2,
    DRIVER_HOST_PORTABLE = 1,
    DRIVER_HOST_MAPPED = 2,
    DRIVER_ATTACH_GLOBAL = 1,
    DRIVER_ATTACH_HOST = 2,
    DRIVER_ATTACH_SINGLE = 4,
};

enum { DRIVER_GRAPH_NODE_PRIORITIES = 8 };  // for an instantiation

// Attributes of functions.
enum {
    DRIVER_FUNCTION_MAX_THREADS = 0,
    DRIVER_FUNCTION_SHARED = 1,
    DRIVER_FUNCTION_CONSTANT = 2,
    DRIVER_FUNCTION_LOCAL = 3,
    DRIVER_FUNCTION_REGISTERS = 4,
    DRIVER_FUNCTION_MAX_DYNAMIC = 8,
    DRIVER_FUNCTION_CARVEOUT = 9,
    DRIVER_FUNCTION_CLUSTER_X = 11,
    DRIVER_FUNCTION_CLUSTER_Y = 12,
    DRIVER_FUNCTION_CLUSTER_Z = 13,
    DRIVER_FUNCTION_NON_PORTABLE_CLUSTER = 14,
};

// Options of module_load.
enum {
    DRIVER_LOAD_ERROR_LOG = 5,
    DRIVER_LOAD_ERROR_LOG_SIZE = 6,
};

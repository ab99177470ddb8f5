// Attributes of launches: what a launch has beside its shape and arguments.
//
//   const rnl_launch_attribute attributes[] = {
//       {.id = RNL_LAUNCH_COOPERATIVE, .value = {.cooperative = true}},
//       {.id = RNL_LAUNCH_PRIORITY, .value = {.priority = -1}},
//   };
//   rnl_enqueue_function(stream, solve,
//                        RNL_LAUNCH(.grid = {64}, .block = {256},
//                                   .attributes = attributes,
//                                   .attribute_count = 2), args);
//
// Values  are checked on every device, also where the attribute has no effect:
//         a launch that is legal on one device is legal on the others, but for
//         limits of the device. RNL_ERROR_INVALID_ARGUMENT names the value.
// Effect  rnl_launch_attribute_has_effect tells whether the device heeds an
//         attribute, and why not. Attributes without effect are left out.
// Graphs  captured launches and FUNCTION nodes keep their attributes, and an
//         update replaces them. Events are of launches on a stream alone; while
//         a stream is captured, an event stands for the node of the launch.
#ifndef RUNNEL_LAUNCH_ATTRIBUTE_H
#define RUNNEL_LAUNCH_ATTRIBUTE_H

#include <runnel/stream_attribute.h>

// Which attribute, and the member of the union that has its value. Numbers and
// meaning follow CUlaunchAttributeID. A launch has each at most once, but for
// RNL_LAUNCH_IGNORE.
typedef enum rnl_launch_attribute_id {
    RNL_LAUNCH_IGNORE = 0,  // no attribute: a place in an array left free
    // .access_policy: which accesses of this launch the cache keeps. The window
    // lies in memory that the context knows (a live buffer, memory of
    // rnl_host_allocate or rnl_host_register) and is at most as large as the
    // device allows. Named buffers live until the launch is done.
    RNL_LAUNCH_ACCESS_POLICY = 1,
    // .cooperative: all blocks are resident at once, so that they may wait for
    // each other
    RNL_LAUNCH_COOPERATIVE = 2,
    // .sync_policy: no device heeds it for a launch; it is the stream's
    RNL_LAUNCH_SYNC_POLICY = 3,
    // .cluster: the same as the launch's own `.cluster`; where both are given
    // they must be equal. Missing axes count as 1.
    RNL_LAUNCH_CLUSTER = 4,
    RNL_LAUNCH_CLUSTER_SCHEDULING = 5,  // .cluster_scheduling
    // .programmatic_serialization: the launch may begin before the launch in
    // front has ended, if that launch permits; the kernel itself waits for
    // writes of that launch
    RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6,
    // .event: recorded once every block has triggered it, by
    // cudaTriggerProgrammaticLaunchCompletion or by its end
    RNL_LAUNCH_PROGRAMMATIC_EVENT = 7,
    // .priority: of this launch instead of the stream's; clamped as that is
    RNL_LAUNCH_PRIORITY = 8,
    RNL_LAUNCH_DOMAIN_MAP = 9,  // .domain_map
    RNL_LAUNCH_DOMAIN = 10,     // .domain
    // .cluster: larger clusters where there is room for them, a multiple of the
    // launch's cluster in x and y, and equal to it in z
    RNL_LAUNCH_PREFERRED_CLUSTER = 11,
    // .event: recorded once every block has begun, as nearly as the device can
    // tell
    RNL_LAUNCH_COMPLETION_EVENT = 12,
    // .updatable_node: a graph node that kernels change. `true` is refused with
    // RNL_ERROR_UNSUPPORTED on every device: Runnel makes the driver's nodes
    // anew when a graph is instantiated or updated, which ends such handles.
    RNL_LAUNCH_UPDATABLE_NODE = 13,
    // .carveout: percent of the L1 cache, 0 … 100, to be shared memory for this
    // launch; goes before RNL_FUNCTION_CARVEOUT
    RNL_LAUNCH_CARVEOUT = 14,
} rnl_launch_attribute_id;

// How the blocks of a cluster are given to multiprocessors.
typedef enum rnl_cluster_scheduling {
    RNL_CLUSTER_DEFAULT = 0,
    RNL_CLUSTER_SPREAD = 1,   // as far apart as can be
    RNL_CLUSTER_BALANCE = 2,  // where the load is least
} rnl_cluster_scheduling;

// An event that a launch records: of the stream's context, made without
// .timing, .interprocess and .promise. It may be complete before the launch is,
// and is complete at the latest with it. On a cpu, on a batched stream, behind
// work that a stream holds back, and by a stream's first operation it is
// recorded behind the launch, as rnl_enqueue_event_record does.
typedef struct rnl_launch_event {
    rnl_event event;
    bool at_block_start;  // PROGRAMMATIC_EVENT: each block triggers it when it
                          // begins
} rnl_launch_event;

// An attribute. The union has room for later members, so that arrays keep their
// layout.
typedef struct rnl_launch_attribute {
    rnl_launch_attribute_id id;
    union {
        bool cooperative;
        bool programmatic_serialization;
        bool updatable_node;
        int priority;
        int carveout;
        rnl_access_policy access_policy;
        rnl_sync_policy sync_policy;
        rnl_dim3 cluster;
        rnl_cluster_scheduling cluster_scheduling;
        rnl_launch_event event;
        rnl_domain_map domain_map;
        rnl_memory_domain domain;
        uint64_t reserved[8];
    } value;
} rnl_launch_attribute;

RNL_BEGIN_DECLS

// Whether launches in `context` heed attribute `id`. `out_reason`, unless NULL,
// gets a static sentence that says why not, or "". RNL_ERROR_INVALID_ARGUMENT
// for a number that is no attribute. Never blocks. Stands for no vendor call.
RNL_API rnl_status rnl_launch_attribute_has_effect(rnl_context context,
                                                   rnl_launch_attribute_id id,
                                                   bool *out_has_effect,
                                                   const char **out_reason);

RNL_END_DECLS

#endif

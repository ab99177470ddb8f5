// Attributes of streams: hints that work on a stream inherits, and how threads
// wait for it.
//
//   rnl_stream_set_attribute(stream,
//       RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY,
//                            .value = {.sync_policy = RNL_SYNC_SPIN}));
//
// An attribute that the device cannot heed is stored and given back like any
// other; getting it says so, and why.
//
// Threads: safe. An attribute counts for work enqueued, and waits begun, after
//          it was set.
#ifndef RUNNEL_STREAM_ATTRIBUTE_H
#define RUNNEL_STREAM_ATTRIBUTE_H

#include <runnel/status.h>

// Which attribute. Numbers and meaning follow CUstreamAttrID.
typedef enum rnl_stream_attribute_id {
    RNL_STREAM_ACCESS_POLICY = 1,  // .access_policy
    RNL_STREAM_SYNC_POLICY = 3,    // .sync_policy
    RNL_STREAM_PRIORITY = 8,       // .priority; fixed when a stream is created
    RNL_STREAM_DOMAIN_MAP = 9,     // .domain_map
    RNL_STREAM_DOMAIN = 10,        // .domain
} rnl_stream_attribute_id;

// Treatment of accesses by a cache.
typedef enum rnl_access_property {
    RNL_ACCESS_NORMAL = 0,
    RNL_ACCESS_STREAMING = 1,   // will hardly be used again
    RNL_ACCESS_PERSISTING = 2,  // will be used again: keep
} rnl_access_property;

// Accesses to a window of `size` bytes from `offset` of `base` or `buffer`:
// a share of them, `hit_ratio`, is taken as `hit`, the rest as `miss`, which
// cannot be persisting. Where it is given back, `base` is the address of the
// window, and `buffer` NULL.
typedef struct rnl_access_policy {
    void *base;        // a device address; may be NULL when the size is 0
    size_t size;       // bytes; 0: no window; RNL_WHOLE: the rest of `buffer`
    float hit_ratio;   // 0 … 1
    rnl_access_property hit, miss;
    rnl_buffer buffer; // instead of `base`; a stream does not keep it alive
    size_t offset;     // bytes
} rnl_access_policy;

// How threads wait in rnl_stream_synchronize and its like.
typedef enum rnl_sync_policy {
    RNL_SYNC_AUTO = 1,      // help with the work, spin briefly, then sleep
    RNL_SYNC_SPIN = 2,      // never sleep: quickest to notice, burns a core
    RNL_SYNC_YIELD = 3,     // never sleep, but let other threads run
    RNL_SYNC_BLOCKING = 4,  // sleep at once
} rnl_sync_policy;

// The logical domain in which fences of a kernel order memory.
typedef enum rnl_memory_domain {
    RNL_DOMAIN_DEFAULT = 0,
    RNL_DOMAIN_REMOTE = 1,
} rnl_memory_domain;

// Which of the device's domains each logical one is.
typedef struct rnl_domain_map {
    uint8_t default_domain, remote_domain;
} rnl_domain_map;

// One attribute with its value. `has_effect` and `reason` are written by
// rnl_stream_get_attribute and ignored by rnl_stream_set_attribute.
typedef struct rnl_stream_attribute {
    size_t struct_size;
    rnl_stream_attribute_id id;
    bool has_effect;     // on this device
    const char *reason;  // why not, a static string; "" when it has
    union {
        rnl_access_policy access_policy;
        rnl_sync_policy sync_policy;
        int priority;
        rnl_domain_map domain_map;
        rnl_memory_domain domain;
    } value;
} rnl_stream_attribute;

#define RNL_STREAM_ATTRIBUTE(...) \
    RNL_LITERAL(rnl_stream_attribute, __VA_ARGS__)

RNL_BEGIN_DECLS

// Sets one attribute. RNL_ERROR_INVALID_ARGUMENT for a number that is no
// attribute, a value that is not legal, and the priority. Never blocks. Stands
// for cuStreamSetAttribute.
RNL_API rnl_status
rnl_stream_set_attribute(rnl_stream stream,
                         const rnl_stream_attribute *attribute);

// Fills `*out_attribute`, whose struct_size the caller has set, with attribute
// `id` of the stream. What was never set is 0, but for the policy RNL_SYNC_AUTO
// and the priority. Of a borrowed stream (<runnel/interop.h>) the driver's
// values are given until the first one is set, or copied, through Runnel: from
// then on Runnel's are the stream's. Stands for cuStreamGetAttribute.
RNL_API rnl_status
rnl_stream_get_attribute(rnl_stream stream, rnl_stream_attribute_id id,
                         rnl_stream_attribute *out_attribute);

// Gives `to` every attribute of `from` that can be set, as
// rnl_stream_get_attribute gives them: not its priority, flags and label.
// RNL_ERROR_INVALID_HANDLE when they are of different contexts. Stands for
// cuStreamCopyAttributes.
RNL_API rnl_status rnl_stream_copy_attributes(rnl_stream to, rnl_stream from);

RNL_END_DECLS

#endif

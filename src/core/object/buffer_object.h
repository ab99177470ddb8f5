// Buffers as all rooms see them.
#pragma once

#include "core/object/context_object.h"

struct op;
struct pool_part;

enum map_state {
    MAP_NONE,
    MAP_CHANGES,  // a call begins or ends the mapping
    MAP_DONE,
};

struct buffer {
    struct object object;
    const struct backend *backend;
    rnl_memory_kind kind;
    rnl_element element;           // read by launches, as is `memory`
    size_t size;
    struct memory memory;
    bool borrowed;                 // not ours to free
    bool read_only;                // and tensors of it say so
    rnl_deleter_fn deleter;
    void *user_data;
    struct object *owner;          // referenced: a slice's whole, or the module
    rnl_buffer parent;             // of a slice: not referenced, may be dead
    struct stream *_Atomic release_stream; // referenced; NULL: the default one
    _Atomic uint64_t release_point; // its progress at the release
    struct pool_part *part;        // keeps the memory; NULL: none
    struct buffer *next_kept;
    size_t capacity;               // bytes of the memory
    bool set_aside;                // the memory is the pool's own
    bool spent;                    // nothing of it is for another buffer
    rnl_attach_mode attach_mode;
    struct lock lock;              // guards attach_mode and the mapping
    enum map_state map_state;
    rnl_map_mode map_mode;
    void *map_shadow;              // host copy of a mapping, where needed
    _Alignas(64) max_align_t native[];
};

static inline void *buffer_native(struct buffer *object)
{
    return object->native;
}

// The whole buffer that a slice lies in; any other buffer is returned as given.
static inline struct buffer *buffer_whole(struct buffer *buffer)
{
    return buffer->parent ? (struct buffer *)buffer->owner : buffer;
}

// Makes a number of RNL_WHOLE, and refuses a range that leaves the buffer.
rnl_status buffer_take_range(const struct buffer *buffer, size_t offset,
                             size_t *size, const char *parameter);

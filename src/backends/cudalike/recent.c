// What a failure report says of operations. Written by whoever submits, with
// the stream's lock; read by whoever finds the device lost, who may not wait
// for that lock: a report that changes while it is read is not known.
#include "backends/cudalike/cudalike.h"

#include <stdio.h>
#include <string.h>

#define RECENT 64  // a power of 2
#define WORDS (sizeof(struct recent) / sizeof(uint64_t))
#define WORDS_BEFORE_LABEL (offsetof(struct recent, label) / sizeof(uint64_t))

struct recent_list {
    struct {
        _Atomic uint64_t sequence;  // 0 while the words are written
        _Atomic uint64_t words[WORDS];
    } items[RECENT];
};

_Static_assert(sizeof(struct recent) % sizeof(uint64_t) == 0 &&
                   offsetof(struct recent, label) % sizeof(uint64_t) == 0,
               "it is copied in words");

void recent_put_locked(struct gpu_stream *own, const struct op *op)
{
    struct recent_list *list = atomic_load_explicit(&own->recent,
                                                    memory_order_relaxed);
    if (!list) {
        list = mem_allocate(sizeof *list);
        atomic_store_explicit(&own->recent, list, memory_order_release);
    }
    if (!list)
        return;
    bool kernel = op->kind == OP_KERNEL;
    struct recent recent = {
        .file = op->file,
        .line = op->line,
        .labelled = op->label != NULL,
        .function =
            kernel ? object_handle(&op->kernel.function->object) : NULL,
        .name = kernel ? NULL : op_name(op),
    };
    if (op->label)
        snprintf(recent.label, sizeof recent.label, "%s", op->label);
    uint64_t words[WORDS];
    size_t count = op->label ? WORDS : WORDS_BEFORE_LABEL;
    memcpy(words, &recent, count * sizeof *words);
    size_t index = op->sequence & (RECENT - 1);
    atomic_store_explicit(&list->items[index].sequence, 0,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < count; i++)
        atomic_store_explicit(&list->items[index].words[i], words[i],
                              memory_order_relaxed);
    atomic_store_explicit(&list->items[index].sequence, op->sequence,
                          memory_order_release);
}

bool recent_find(const struct gpu_stream *own, uint64_t sequence,
                 struct recent *out)
{
    struct recent_list *list = atomic_load_explicit(&own->recent,
                                                    memory_order_acquire);
    uint64_t words[WORDS];
    size_t index = sequence & (RECENT - 1);
    if (!list || atomic_load_explicit(&list->items[index].sequence,
                                      memory_order_acquire) != sequence)
        return false;
    for (size_t i = 0; i < WORDS; i++)
        words[i] = atomic_load_explicit(&list->items[index].words[i],
                                        memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&list->items[index].sequence,
                             memory_order_relaxed) != sequence)
        return false;
    memcpy(out, words, sizeof *out);
    return true;
}

void recent_finish(struct gpu_stream *own)
{
    mem_release(atomic_load(&own->recent), sizeof(struct recent_list));
}

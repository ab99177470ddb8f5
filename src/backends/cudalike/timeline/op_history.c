// The operation history, for failure reports. The thread that submits writes a
// record, with the stream's lock. The thread that finds the device lost reads
// records without that lock, which it must not wait for. A record that changes
// during the read counts as unknown.
#include "backends/cudalike/timeline/op_history.h"

#include "backends/cudalike/timeline/gpu_stream.h"
#include "base/read_mostly.h"

#include <stdio.h>
#include <string.h>

#define RECENT 64  // a power of 2
#define LABEL_WORDS (sizeof((struct op_record *)NULL)->label / sizeof(uint64_t))

_Static_assert(sizeof((struct op_record *)NULL)->label % sizeof(uint64_t) == 0,
               "it is copied in words");

// The record of an operation. Each launch writes one, so two fit into a cache
// line.
struct entry {
    _Atomic uint64_t sequence;       // 0 while the rest is written
    const char *_Atomic file;
    _Atomic uint64_t line;           // highest bits: LABELLED, KERNEL
    const void *_Atomic what;        // a function's handle, or a static name
};

#define LABELLED (UINT64_C(1) << 63)
#define KERNEL (UINT64_C(1) << 62)

struct op_history {
    _Alignas(64) struct entry entries[RECENT];
    _Atomic uint64_t labels[RECENT][LABEL_WORDS];
};

static __attribute__((noinline)) struct op_history *
make_list(struct gpu_stream *own)
{
    struct op_history *list = mem_allocate_aligned(sizeof *list, 64);
    atomic_store_explicit(&own->history, list, memory_order_release);
    return list;
}

static void put_label(_Atomic uint64_t *words, const char *label)
{
    uint64_t copy[LABEL_WORDS];
    snprintf((char *)copy, sizeof copy, "%s", label);
    for (size_t i = 0; i < LABEL_WORDS; i++)
        atomic_store_explicit(&words[i], copy[i], memory_order_relaxed);
}

static inline void put(struct entry *entry, const struct op *op,
                       const void *what, uint64_t flags)
{
    atomic_store_explicit(&entry->file, op->file, memory_order_relaxed);
    atomic_store_explicit(&entry->line, (uint32_t)op->line | flags,
                          memory_order_relaxed);
    atomic_store_explicit(&entry->what, what, memory_order_relaxed);
    atomic_store_explicit(&entry->sequence, op->sequence,
                          memory_order_release);
}

static __attribute__((noinline)) void
put_other(struct op_history *list, size_t index, const struct op *op)
{
    bool kernel = op->kind == OP_KERNEL;
    if (op->label)
        put_label(list->labels[index], op->label);
    put(&list->entries[index], op,
        kernel ? object_handle(&op->kernel.function->object) : op_name(op),
        (kernel ? KERNEL : 0) | (op->label ? LABELLED : 0));
}

HOT void op_history_put_locked(struct gpu_stream *own,
                                     const struct op *op)
{
    ASSERT(lock_is_held(&own->lock));
    struct op_history *list = atomic_load_explicit(&own->history,
                                                    memory_order_relaxed);
    if (__builtin_expect(!list, 0) && !(list = make_list(own)))
        return;
    size_t index = op->sequence & (RECENT - 1);
    struct entry *entry = &list->entries[index];
    atomic_store_explicit(&entry->sequence, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    if (__builtin_expect(op->kind == OP_KERNEL && !op->label, 1))
        put(entry, op, object_handle(&op->kernel.function->object), KERNEL);
    else
        put_other(list, index, op);
}

static void get(const struct op_history *list, size_t index,
                struct op_record *out)
{
    const struct entry *entry = &list->entries[index];
    uint64_t line = atomic_load_explicit(&entry->line, memory_order_relaxed);
    const void *what = atomic_load_explicit(&entry->what,
                                            memory_order_relaxed);
    uint64_t label[LABEL_WORDS];
    for (size_t i = 0; i < LABEL_WORDS; i++)
        label[i] = atomic_load_explicit(&list->labels[index][i],
                                        memory_order_relaxed);
    *out = (struct op_record){
        .file = atomic_load_explicit(&entry->file, memory_order_relaxed),
        .line = (int)(uint32_t)line,
        .labelled = line & LABELLED,
        .function = line & KERNEL ? what : NULL,
        .name = line & KERNEL ? NULL : what,
    };
    memcpy(out->label, label, sizeof label);
}

bool op_history_find(const struct gpu_stream *own, uint64_t sequence,
                 struct op_record *out)
{
    struct op_history *list = atomic_load_explicit(&own->history,
                                                    memory_order_acquire);
    size_t index = sequence & (RECENT - 1);
    if (!list || atomic_load_explicit(&list->entries[index].sequence,
                                      memory_order_acquire) != sequence)
        return false;
    struct op_record found;
    get(list, index, &found);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&list->entries[index].sequence,
                             memory_order_relaxed) != sequence)
        return false;
    *out = found;
    return true;
}

// The caller holds no reference to the function, which may end during this
// call.
void op_history_name(const struct op_record *recent, char name[OP_RECORD_NAME])
{
    if (!recent->function)
        snprintf(name, OP_RECORD_NAME, "%s",
                 recent->name ? recent->name : "work");
    else if (!object_copy_label(recent->function, OBJECT_FUNCTION, name,
                                OP_RECORD_NAME))
        snprintf(name, OP_RECORD_NAME, "a function that was released");
}

void op_history_describe(const struct gpu_stream *own, uint64_t sequence,
                     char *text, size_t size)
{
    struct op_record recent;
    char name[OP_RECORD_NAME];
    unsigned long long number = sequence;
    if (!op_history_find(own, sequence, &recent)) {
        snprintf(text, size, "%llu", number);
        return;
    }
    op_history_name(&recent, name);
    if (!recent.file)
        snprintf(text, size, "%llu (%s)", number, name);
    else
        snprintf(text, size, "%llu (%s, %s:%d)", number, name, recent.file,
                 recent.line);
}

rnl_status stream_timed_out(const struct stream *stream)
{
    char name[160], next[200];
    const struct gpu_stream *own = gpu_stream_of(stream);
    uint64_t last = atomic_load(&stream->enqueued);
    uint64_t at = atomic_load(&timeline_of(own)->completed) + 1;
    at = at < last ? at : last;
    object_describe(&stream->object, name, sizeof name);
    op_history_describe(own, at, next, sizeof next);
    fail(RNL_ERROR_TIMED_OUT,
         "the work was not done within the time limit: %s has come to "
         "operation %s at least, of %llu%s",
         name, next, (unsigned long long)last,
         atomic_load(&own->defers)
             ? ", and waits for the host or another stream" : "");
    fail_set_object("%s", name);
    return RNL_ERROR_TIMED_OUT;
}

void op_history_finish(struct gpu_stream *own)
{
    mem_release(atomic_load(&own->history), sizeof(struct op_history));
}

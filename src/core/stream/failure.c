#include "core/stream/failure.h"

#include "base/log.h"
#include "base/text.h"
#include "core/object/object.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <stdio.h>

// Failures for the case that memory is short: one static failure per status,
// never freed.
#define COUNT_ONE(name, number, sentence) +1
static struct failure no_memory[RNL_STATUS_MAP(COUNT_ONE)];
#undef COUNT_ONE
static struct lock no_memory_lock = LOCK_RANKED(RANK_LEAF);

static struct failure *without_memory(rnl_status status)
{
    struct failure *failure = &no_memory[status];
    lock_take(&no_memory_lock);
    failure->status = status;
    snprintf(failure->message, sizeof failure->message,
             "an operation failed, and there was no memory to say which: %s",
             rnl_status_text(status));
    atomic_fetch_add(&failure->references, 2);
    lock_give(&no_memory_lock);
    return failure;
}

// In the child, another thread may have had it.
void failure_forked(void)
{
    no_memory_lock = (struct lock)LOCK_RANKED(RANK_LEAF);
}

struct failure *failure_blame(struct stream *stream, const struct blame *blame,
                              rnl_status status, const char *message)
{
    struct failure *failure = mem_allocate(sizeof *failure);
    if (!failure)
        return without_memory(status);
    atomic_store(&failure->references, 1);
    failure->status = status;
    failure->operation = blame->sequence;
    failure->file = blame->file;
    failure->line = blame->line;
    object_describe(&stream->object, failure->stream,
                    sizeof failure->stream);
    snprintf(failure->name, sizeof failure->name, "%s", blame->name);
    snprintf(failure->label, sizeof failure->label, "%s",
             blame->label ? blame->label : "");
    snprintf(failure->message, sizeof failure->message, "%s", message);
    log_write(RNL_LOG_ERROR, "%s failed on %s (operation %llu): %s",
              failure->name, failure->stream,
              (unsigned long long)failure->operation, failure->message);
    return failure;
}

struct blame op_blame(const struct op *op)
{
    return (struct blame){op->sequence, op->file, op->line, op_name(op),
                          op->label};
}

struct failure *failure_create(struct stream *stream, uint64_t sequence,
                               const struct op *op, rnl_status status,
                               const char *message)
{
    struct blame blame = op_blame(op);
    blame.sequence = sequence;
    return failure_blame(stream, &blame, status, message);
}

void failure_unref(struct failure *failure)
{
    if (failure && COUNT_DOWN(&failure->references) == 1)
        mem_release(failure, sizeof *failure);
}

static void describe(const struct failure *failure, bool dependent,
                     struct text *text)
{
    if (dependent)
        text_add(text, "the work waits for work that failed: ");
    text_add(text, "%s", failure->name);
    if (failure->label[0])
        text_add(text, " '%s'", failure->label);
    text_add(text, " failed on %s as operation %llu", failure->stream,
             (unsigned long long)failure->operation);
    if (failure->file)
        text_add(text, ", enqueued at %s:%d", failure->file, failure->line);
    text_add(text, ": %s", failure->message);
}

// A lost device is no failure of another stream's.
static bool is_inherited(const struct failure *failure,
                         const struct stream *stream)
{
    return atomic_load(&stream->failure) == failure &&
           atomic_load(&stream->inherited);
}

rnl_status failure_status(const struct failure *failure,
                          const struct stream *stream)
{
    return is_inherited(failure, stream) ? RNL_ERROR_DEPENDENCY_FAILED
                                         : failure->status;
}

rnl_status failure_report(const struct failure *failure,
                          const struct stream *stream)
{
    char own[160];
    object_describe(&stream->object, own, sizeof own);
    bool known = failure->operation != 0;
    struct text text = {0};
    if (known)
        describe(failure, is_inherited(failure, stream), &text);
    rnl_status status = fail_with(&(rnl_error){
        .status = failure_status(failure, stream),
        .message = text.data ? text.data : failure->message,
        .stream = known ? failure->stream : own,
        .operation = failure->operation,
        .operation_name = known ? failure->name : NULL,
        .operation_label = failure->label[0] ? failure->label : NULL,
        .site_file = failure->file,
        .site_line = failure->line,
    });
    text_finish(&text);
    return status;
}

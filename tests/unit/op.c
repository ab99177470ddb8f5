// core/op: payloads, what an operation keeps, recycling.
#include "unit.h"

#include "backends/null/null.h"
#include "base/clock.h"
#include "core/backend.h"
#include "core/context/library.h"
#include "core/stream/op.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

static rnl_context context;

static struct stream *begin(void)
{
    static const struct backend *const table[] = {&null_backend, NULL};
    rnl_stream handle = NULL;
    struct stream *stream = NULL;
    assert_ok(library_reopen(table));
    assert_ok(rnl_context_open("null", 0, NULL, &context));
    assert_ok(rnl_context_default_stream(context, &handle));
    stream = (struct stream *)object_find(handle, OBJECT_STREAM);
    assert_non_null(stream);
    return stream;
}

static void end(void)
{
    size_t held = 1;
    assert_ok(rnl_context_release(context));
    assert_ok(rnl_trim(&held));
    assert_int_equal(held, 0);
    assert_int_equal(null_live(), 0);
}

RNL_TEST(payloads_of_any_size_are_aligned_and_writable)
{
    struct stream *stream = begin();
    const size_t sizes[] = {0, 1, 16, OP_INLINE_PAYLOAD,
                            OP_INLINE_PAYLOAD + 1, 4096, 1 << 20};
    for (int i = 0; i < 7; i++) {
        struct op *op = op_create(stream, OP_COPY, sizes[i]);
        assert_non_null(op);
        assert_int_equal((uintptr_t)op->payload % 16, 0);
        memset(op->payload, 0xff, sizes[i]);
        assert_int_equal(op->kept_count, 0);
        assert_null(op->next);
        assert_null(op->label);
        op_finish(op);
    }
    end();
}

RNL_TEST(impossible_payloads_are_out_of_memory)
{
    struct stream *stream = begin();
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, (size_t)1 << 60};
    for (int i = 0; i < 3; i++) {
        assert_null(op_create(stream, OP_COPY, sizes[i]));
        assert_int_equal(rnl_last_error()->status, RNL_ERROR_OUT_OF_MEMORY);
    }
    end();
}

RNL_TEST(an_operation_drops_what_it_keeps)
{
    struct stream *stream = begin();
    rnl_buffer handle = NULL;
    struct buffer *buffer = NULL;
    assert_ok(rnl_buffer_create(context, 64, NULL, &handle));
    buffer = (struct buffer *)object_find_ref(handle, OBJECT_BUFFER);
    assert_non_null(buffer);
    struct op *op = op_create(stream, OP_FILL, 0);
    op->kept[op->kept_count++] = &buffer->object;
    unsigned live = null_live();
    assert_ok(rnl_buffer_release(handle));
    assert_ok(rnl_context_trim(context, 0));
    assert_int_equal(null_live(), live);
    op_finish(op);
    assert_ok(rnl_context_trim(context, 0));
    assert_int_equal(null_live(), live - 1);
    end();
}

RNL_TEST(every_kind_of_operation_has_a_name)
{
    struct stream *stream = begin();
    const enum op_kind kinds[] = {OP_COPY, OP_FILL, OP_HOST, OP_WAIT,
                                  OP_TIMESTAMP, OP_RELEASE};
    for (int i = 0; i < 6; i++) {
        struct op *op = op_create(stream, kinds[i], 0);
        assert_true(strlen(op_name(op)) > 0);
        op_finish(op);
    }
    end();
}

static void *finish_many(void *list)
{
    for (struct op *op = list; op;) {
        struct op *next = op->next;
        op_finish(op);
        op = next;
    }
    return NULL;
}

static void *create_some(void *stream)
{
    // Takes a batch of what others gave back, and ends with most of it.
    struct op *op = op_create(stream, OP_FILL, 0);
    op_finish(op);
    struct op *kept = op_create(stream, OP_FILL, 0);
    return kept;
}

static void *create_one(void *stream)
{
    return op_create(stream, OP_FILL, 0);
}

// One thread makes, another finishes, and neither's end loses any.
RNL_TEST(operations_wander_between_threads)
{
    struct stream *stream = begin();
    void *(*const makers[])(void *) = {create_some, create_one};
    for (int round = 0; round < 20; round++) {
        struct op *list = NULL;
        for (int i = 0; i < 200; i++) {
            struct op *op = op_create(stream, OP_FILL, 0);
            op->next = list;
            list = op;
        }
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, finish_many, list), 0);
        pthread_join(thread, NULL);
        void *op = NULL;
        assert_int_equal(pthread_create(&thread, NULL, makers[round % 2],
                                        stream), 0);
        pthread_join(thread, &op);
        assert_non_null(op);
        op_finish(op);
    }
    end();
}

RNL_TEST(operations_left_by_a_dead_thread_are_not_lost)
{
    struct stream *stream = begin();
    struct op *list = NULL;
    for (int i = 0; i < 500; i++) {
        struct op *op = op_create(stream, OP_FILL, 0);
        op->next = list;
        list = op;
    }
    finish_many(list);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        void *op = NULL;
        assert_int_equal(pthread_create(&thread, NULL, create_one, stream),
                         0);
        pthread_join(thread, &op);
        op_finish(op);
    }
    end();
}

// --- What is kept ----------------------------------------------------------

enum { AT_REST = 1 << 20 };  // bytes of operations that a program at rest has

static struct op *make_many(struct stream *stream, int count)
{
    struct op *list = NULL;
    for (int i = 0; i < count; i++) {
        struct op *op = op_create(stream, OP_FILL, 0);
        assert_non_null(op);
        op->next = list;
        list = op;
    }
    return list;
}

RNL_TEST(surplus_operations_are_given_back_in_small_parts)
{
    struct stream *stream = begin();
    size_t before = mem_held(), parts = 1;
    assert_false(op_has_surplus());
    assert_false(op_free_surplus());
    op_finish_list(make_many(stream, 20000));
    for (; op_free_surplus(); parts++)
        assert_in_range(parts, 1, 100);
    assert_false(op_has_surplus());
    assert_in_range(mem_held(), before, before + AT_REST);
    // Enough are kept for the next few.
    size_t kept = mem_held();
    op_finish_list(make_many(stream, 2000));
    assert_int_equal(mem_held(), kept);
    end();
}

static rnl_status do_nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

// The stream waits for the promise, so all are there at the same time.
static void launch_many(rnl_context cpu, rnl_stream stream, int count)
{
    rnl_event promise = NULL;
    rnl_stream other = NULL;
    rnl_function function = NULL;
    assert_ok(rnl_stream_create(cpu, NULL, &other));
    assert_ok(rnl_event_create(cpu, RNL_EVENT_OPTIONS(.promise = true),
                               &promise));
    assert_ok(rnl_function_create_native(cpu, "do_nothing", do_nothing, NULL,
                                         &function));
    assert_ok(rnl_enqueue_wait_event(stream, promise));
    for (int i = 0; i < count; i++)
        assert_ok(rnl_enqueue_function(stream, function,
                                       RNL_LAUNCH(.grid = {1}, .block = {1}),
                                       RNL_NO_ARGS));
    assert_ok(rnl_enqueue_event_record(other, promise));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_event_release(promise));
    assert_ok(rnl_stream_release(other));
}

RNL_TEST(operations_of_a_long_backlog_are_given_back_at_rest)
{
    const uint64_t most_ns = UINT64_C(20000000000);
    rnl_context cpu = NULL;
    rnl_stream stream = NULL;
    assert_ok(rnl_context_open("cpu", 0, NULL, &cpu));
    assert_ok(rnl_stream_create(cpu, NULL, &stream));
    launch_many(cpu, stream, 1);
    size_t before = mem_held();
    for (int round = 0; round < 3; round++) {
        launch_many(cpu, stream, 50000);
        uint64_t end_ns = clock_now() + most_ns;
        while (mem_held() > before + AT_REST && clock_now() < end_ns)
            sched_yield();
        assert_in_range(mem_held(), 1, before + AT_REST);
    }
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(cpu));
}

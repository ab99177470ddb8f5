// What hip does beyond a billion operations of the host, and with packed
// values: the library is inside this program.
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "core/module/function.h"
#include "core/object/handle.h"
#include "core/object/release.h"

#include "loaded.h"

#include <sched.h>
#include <stdatomic.h>

#define SIZE 64
#define WORD_MOST (UINT32_C(3) << 30)  // HIP waits for smaller numbers
#define LAST_MOST (UINT32_C(1) << 30)  // no stream begins with a larger one

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;
static struct fake_told told;
static struct fake_gate gate;

static struct gpu_stream *own_of(rnl_stream handle)
{
    struct object *object = object_find_ref(handle, OBJECT_STREAM);
    assert_non_null(object);
    object_unref(object);
    return gpu_stream_of((struct stream *)object);
}

static void call_host(rnl_stream on)
{
    assert_ok(rnl_enqueue_host_function(on, fake_count, &told));
    assert_ok(rnl_stream_synchronize(on, RNL_FOREVER));
}

// As if the stream had waited for so many operations of the host.
static void count_to(rnl_stream on, uint32_t number)
{
    call_host(on);
    struct gpu_stream *own = own_of(on);
    lock_take(&own->lock);
    struct host_words *words = own->host.words;
    atomic_store(words->reached, number);
    atomic_store(words->done, number);
    atomic_store(&words->completed, number);
    own->host.submitted = own->host.announced = own->host.awaited = number;
    lock_give(&own->lock);
}

static bool are_free(const struct host_words *words)
{
    struct object *object = object_find_ref(context, OBJECT_CONTEXT);
    struct gpu_context *gpu = gpu_of((struct context *)object);
    lock_take(&gpu->lock);
    const struct host_words *found = gpu->free_words;
    while (found && found != words)
        found = found->next;
    lock_give(&gpu->lock);
    object_unref(object);
    return found != NULL;
}

// Returns once the stream's words are free.
static struct host_words *end_stream(rnl_stream ended)
{
    struct host_words *words = own_of(ended)->host.words;
    assert_ok(rnl_stream_release(ended));
    while (!are_free(words))
        sched_yield();
    return words;
}

// The words that a new stream gets after one that counted so far has ended.
static bool are_used_again(uint32_t number)
{
    rnl_stream first, second;
    assert_ok(rnl_stream_create(context, NULL, &first));
    count_to(first, number);
    struct host_words *words = end_stream(first);
    assert_ok(rnl_stream_create(context, NULL, &second));
    call_host(second);
    return end_stream(second) == words;
}

RNL_TEST(words_that_counted_far_are_used_no_more)
{
    fake_open(&context, &stream, 0, &buffer, SIZE);
    assert_true(are_used_again(LAST_MOST));
    assert_false(are_used_again(LAST_MOST + 1));
    fake_close(context, stream, buffer);
}

RNL_TEST(a_wait_for_too_large_a_number_is_refused)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    fake_open(&context, &stream, 0, &buffer, SIZE);
    assert_ok(rnl_stream_begin_capture(stream, NULL));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, SIZE, 5, 4));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    for (int more = 0; more < 2; more++) {
        count_to(stream, WORD_MOST - 2 + (uint32_t)more);
        gate = (struct fake_gate){0};
        assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
        fake_await_entered(&gate);
        assert_status(rnl_enqueue_graph(stream, exec),
                      more ? RNL_ERROR_UNSUPPORTED : RNL_OK);
        atomic_store(&gate.open, 1);
        assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    fake_close(context, stream, buffer);
}

// No function of hip packs by itself.
RNL_TEST(packed_values_end_with_the_mark_of_hip)
{
    rnl_module module;
    rnl_function function;
    struct fake_live live;
    int value = 0;
    fake_open(&context, &stream, 0, &buffer, SIZE);
    assert_ok(fake_module(context, &module));
    assert_ok(rnl_module_function(module, "add", &function));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, SIZE, 1, 4));
    struct object *object = object_find_ref(function, OBJECT_FUNCTION);
    ((struct function *)object)->packs = true;
    object_unref(object);
    assert_ok(rnl_enqueue_function(stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_ARGS(buffer, 41, 1)));
    assert_ok(
        rnl_copy_from_buffer_and_wait(stream, &value, buffer, 0, sizeof value));
    assert_int_equal(value, 42);
    fake_live(&live);
    assert_int_equal(live.packed, 1);
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_module_release(module));
    fake_close(context, stream, buffer);
}

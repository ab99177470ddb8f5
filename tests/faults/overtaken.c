// A call whose stream another thread releases just after the call checked its
// handle: the work must not land on another stream that was made meanwhile. The
// call is held at an allocation, which comes behind the check.
#include "sweep.h"

#include <pthread.h>
#include <semaphore.h>

// Of as many streams that die after one, it is the first to be used again.
enum { WORDS = 100, OTHERS = 200 };

static sem_t inside, go_on;
static _Thread_local bool held;

static void *give_late(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    // More than an operation itself takes: the words of the call.
    if (held && size >= WORDS * sizeof(uint32_t)) {
        held = false;
        sem_post(&inside);
        sem_wait(&go_on);
    }
    size_t rounded = (size + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment, rounded);
}

static void take(void *memory, size_t size, void *user_data)
{
    (void)size, (void)user_data;
    free(memory);
}

struct call {
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_status status;
};

static void *write_words(void *argument)
{
    struct call *call = argument;
    rnl_value_op words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                                 .buffer = call->buffer, .value = 1);
    rnl_stream_query(call->stream);  // what a thread's first call allocates
    held = true;
    call->status = rnl_enqueue_values(call->stream, words, WORDS);
    return NULL;
}

static void make_others(rnl_context context, rnl_stream_flags flags,
                        rnl_stream others[OTHERS])
{
    for (int i = 0; i < OTHERS; i++)
        assert_ok(rnl_stream_create(
            context, RNL_STREAM_OPTIONS(.flags = flags), &others[i]));
}

static void end_others(rnl_stream others[OTHERS])
{
    for (int i = 0; i < OTHERS; i++) {
        assert_ok(rnl_stream_synchronize(others[i], RNL_FOREVER));
        assert_ok(rnl_stream_release(others[i]));
    }
}

static uint32_t word_of(rnl_context context, rnl_buffer buffer)
{
    rnl_stream stream = NULL;
    uint32_t word = 2;
    assert_ok(rnl_context_default_stream(context, &stream));
    assert_ok(rnl_enqueue_copy_from_buffer(stream, &word, buffer, 0,
                                           sizeof word));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    return word;
}

static void overtake(rnl_context context, rnl_stream_flags flags,
                     rnl_stream_flags new_flags)
{
    struct call call = {0};
    rnl_stream others[OTHERS];
    pthread_t thread;
    assert_ok(rnl_buffer_create(
        context, 64, RNL_BUFFER_OPTIONS(.zeroed = true), &call.buffer));
    assert_ok(rnl_stream_create(context, RNL_STREAM_OPTIONS(.flags = flags),
                                &call.stream));
    make_others(context, flags, others);
    assert_int_equal(pthread_create(&thread, NULL, write_words, &call), 0);
    sem_wait(&inside);
    assert_ok(rnl_stream_release(call.stream));
    end_others(others);
    make_others(context, new_flags, others);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_int_equal(call.status, RNL_ERROR_INVALID_HANDLE);
    end_others(others);
    assert_int_equal(word_of(context, call.buffer), 0);
    assert_ok(rnl_buffer_release(call.buffer));
}

static void test_overtaken(rnl_stream_flags flags,
                           rnl_stream_flags new_flags)
{
    rnl_context context = NULL;
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = give_late, .release = take)));
    assert_int_equal(sem_init(&inside, 0, 0), 0);
    assert_int_equal(sem_init(&go_on, 0, 0), 0);
    assert_ok(sweep_open(&context));
    bool able =
        rnl_context_supports(context, RNL_FEATURE_BATCHED_STREAMS, NULL) ==
            RNL_OK &&
        rnl_context_supports(context, RNL_FEATURE_MEMORY_OPERATIONS, NULL) ==
            RNL_OK;
    if (able)
        overtake(context, flags, new_flags);
    assert_ok(rnl_context_release(context));
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(NULL));
    if (!able)
        test_skip("the device has no batched streams or value operations");
}

RNL_TEST(a_call_overtaken_by_a_release_is_refused)
{
    test_overtaken(0, 0);
}

RNL_TEST(a_call_overtaken_by_a_release_is_refused_if_batched)
{
    test_overtaken(RNL_STREAM_BATCHED, RNL_STREAM_BATCHED);
}

RNL_TEST(a_call_overtaken_by_a_release_stays_in_no_batch)
{
    test_overtaken(RNL_STREAM_BATCHED, 0);
}

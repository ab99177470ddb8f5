#include "shut.h"

#include <pthread.h>
#include <sched.h>

void shut_open_with(struct shut *shut, uint64_t pool_threshold)
{
    *shut = (struct shut){0};
    fake_load();
    assert_ok(rnl_context_open(
        "cuda", 0, RNL_CONTEXT_OPTIONS(.pool_threshold = pool_threshold),
        &shut->context));
    assert_ok(rnl_stream_create(shut->context, NULL, &shut->stream));
    assert_ok(rnl_stream_create(shut->context, NULL, &shut->other));
    assert_ok(rnl_buffer_create(shut->context, 8,
                                RNL_BUFFER_OPTIONS(.zeroed = true),
                                &shut->word));
    assert_ok(rnl_enqueue_buffer_create(shut->stream, 4096, NULL,
                                        &shut->buffer));
    assert_ok(rnl_enqueue_wait_value32(shut->stream, shut->word, 0, 1,
                                       RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_fill(shut->stream, shut->buffer, 0, 4096, 7, 4));
}

void shut_open(struct shut *shut)
{
    shut_open_with(shut, 1);
}

void shut_expect_empty(void)
{
    struct fake_live live;
    do {
        fake_live(&live);
        sched_yield();
    } while (live.contexts > 0);
    assert_int_equal(live.blocks + live.leaked + live.misuses, 0);
}

void shut_end(struct shut *shut)
{
    assert_ok(rnl_enqueue_write_value32(shut->other, shut->word, 0, 1));
    assert_ok(rnl_stream_synchronize(shut->stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(shut->word));
    assert_ok(rnl_stream_release(shut->other));
    assert_ok(rnl_stream_release(shut->stream));
    assert_ok(rnl_context_release(shut->context));
    shut_expect_empty();
}

void shut_close(struct shut *shut)
{
    shut_end(shut);
    fake_expect_empty();
}

void run_in_another_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    pthread_join(thread, NULL);
}

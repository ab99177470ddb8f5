// Threads that launch at once on the fake libamdhip64, each with a current
// device of its own.
#include "loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, LAUNCHES = 200, COUNT = 64, SIZE = COUNT * sizeof(int) };

struct worker {
    rnl_context context;
    rnl_function add;
    pthread_barrier_t *begin;
    rnl_stream_flags flags;
    int current;  // the thread's device before, and after all
    int ints[COUNT];
    rnl_status status;
};

static int (*set_device)(int device);
static int (*get_device)(int *out_device);

static rnl_status launch(const struct worker *worker, rnl_stream stream,
                         rnl_buffer buffer)
{
    return rnl_enqueue_function(stream, worker->add,
                                RNL_LAUNCH(.grid = {1}, .block = {COUNT}),
                                RNL_ARGS(buffer, 1, (int)COUNT));
}

// All of a thread's work but its beginning and its end.
static rnl_status work(struct worker *worker, rnl_stream stream,
                       rnl_buffer buffer)
{
    rnl_status status = rnl_enqueue_fill(stream, buffer, 0, SIZE, 0, 4);
    for (int i = 0; i < LAUNCHES && !status; i++)
        status = launch(worker, stream, buffer);
    return status ? status
                  : rnl_copy_from_buffer_and_wait(stream, worker->ints, buffer,
                                                  0, SIZE);
}

static void *run(void *opaque)
{
    struct worker *worker = opaque;
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_status status = RNL_OK;
    if (worker->current > 0)
        set_device(worker->current);
    pthread_barrier_wait(worker->begin);
    status = rnl_stream_create(
        worker->context, RNL_STREAM_OPTIONS(.flags = worker->flags), &stream);
    if (!status)
        status = rnl_buffer_create(worker->context, SIZE, NULL, &buffer);
    if (!status)
        status = work(worker, stream, buffer);
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    worker->status = status;
    get_device(&worker->current);
    return NULL;
}

static void expect_launches(rnl_stream_flags flags)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t begin;
    rnl_context context;
    rnl_module module;
    rnl_function add;
    fake_load();
    assert_ok(rnl_context_open("hip", 0, NULL, &context));
    assert_ok(fake_module(context, &module));
    assert_ok(rnl_module_function(module, "add", &add));
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] =
            (struct worker){context, add, &begin, flags, i % 2, {-1}, RNL_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &workers[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_status(workers[i].status, RNL_OK);
        assert_int_equal(workers[i].current, i % 2);
        for (int k = 0; k < COUNT; k++)
            assert_int_equal(workers[i].ints[k], LAUNCHES);
    }
    pthread_barrier_destroy(&begin);
    assert_ok(rnl_function_release(add));
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

// With two devices, in a process of its own.
static void expect_launches_of(const char *test, rnl_stream_flags flags)
{
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_DEVICES=2", NULL};
        assert_int_equal(fake_spawn(test, environment), 0);
        return;
    }
    void *library = dlopen(getenv("RUNNEL_HIP"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&set_device = dlsym(library, "hipSetDevice");
    *(void **)&get_device = dlsym(library, "hipGetDevice");
    expect_launches(flags);
}

RNL_TEST(eight_threads_launch_whatever_their_device)
{
    expect_launches_of(__func__, RNL_STREAM_NON_BLOCKING);
}

RNL_TEST(eight_threads_launch_in_batches_whatever_their_device)
{
    expect_launches_of(__func__, RNL_STREAM_NON_BLOCKING | RNL_STREAM_BATCHED);
}

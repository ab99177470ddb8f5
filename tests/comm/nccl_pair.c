#include "nccl_pair.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake_nccl_control *control;
const char *api;
rnl_context contexts[2];
rnl_stream streams[2];
rnl_buffer buffers[2];
rnl_comm comms[2];

void expect_refused(rnl_status got, rnl_status status, const char *words)
{
    test_status(got, status, "the call", __FILE__, __LINE__);
    if (!strstr(rnl_last_error()->message, words))
        fail_msg("'%s' lacks '%s'", rnl_last_error()->message, words);
}

const char *library(void)
{
    return getenv(strcmp(api, "hip") == 0 ? "RUNNEL_RCCL" : "RUNNEL_NCCL");
}

void find_control(void)
{
    fake_nccl_control_fn *find;
    api = strncmp(test_device_name(), "hip", 3) == 0 ? "hip" : "cuda";
    void *fake = dlopen(library(), RTLD_NOW | RTLD_NODELETE);
    if (!fake)
        fail_msg("%s", dlerror());
    *(void **)&find = dlsym(fake, "fake_nccl_control");
    control = find();
}

void open_device(int index)
{
    expect_ok(rnl_context_open(api, (size_t)index, NULL, &contexts[index]));
    expect_ok(rnl_stream_create(contexts[index], NULL, &streams[index]));
    expect_ok(rnl_buffer_create(contexts[index], 2 * COUNT * sizeof(float),
                                RNL_BUFFER_OPTIONS(.zeroed = true),
                                &buffers[index]));
}

void close_device(int index)
{
    if (comms[index])
        expect_ok(rnl_comm_release(comms[index]));
    expect_ok(rnl_buffer_release(buffers[index]));
    expect_ok(rnl_stream_release(streams[index]));
    expect_ok(rnl_context_release(contexts[index]));
}

void begin_all(const rnl_comm_options *options)
{
    find_control();
    open_device(0);
    open_device(1);
    expect_ok(rnl_comm_create_all(contexts, 2, options, comms));
}

void expect_comms(int count)
{
    uint64_t deadline = now_ns() + 25 * SECOND;
    while (control->comms != count && now_ns() < deadline)
        sched_yield();
    assert_int_equal(control->comms, count);
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void end_all(void)
{
    close_device(0);
    close_device(1);
    expect_comms(0);
    assert_int_equal(control->misuses, 0);
    assert_int_equal(test_held(0), 0);
}

void fill(int index, float value)
{
    float values[2 * COUNT];
    for (int i = 0; i < 2 * COUNT; i++)
        values[i] = value + (float)i;
    expect_ok(rnl_copy_to_buffer_and_wait(streams[index], buffers[index], 0,
                                          values, sizeof values));
}

float read_at(int index, int at)
{
    float value = 0;
    expect_ok(
        rnl_copy_from_buffer_and_wait(streams[index], &value, buffers[index],
                                      (size_t)at * sizeof value, sizeof value));
    return value;
}

rnl_comm_data data_of(int index)
{
    return (rnl_comm_data){sizeof(rnl_comm_data), NULL, 0,
                           buffers[index],        0,    COUNT,
                           RNL_ELEMENT_FLOAT32};
}

rnl_status reduce(int index, rnl_reduction reduction)
{
    rnl_comm_data data = data_of(index);
    return rnl_enqueue_all_reduce(streams[index], comms[index], &data,
                                  reduction);
}

void expect_failure(int index, rnl_status status, const char *words)
{
    expect_refused(rnl_stream_synchronize(streams[index], RNL_FOREVER), status,
                   words);
}

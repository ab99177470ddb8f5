#include "loaded.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

fake_live_fn *fake_live;
fake_fail_fn *fake_fail;
fake_meet_fn *fake_meet;
fake_calls_fn *fake_calls;
fake_failed_fn *fake_failed;
fake_break_fn *fake_break;
fake_capture_fn *fake_capture;
fake_image_fn *fake_image;
fake_complaint_fn *fake_complaint;
fake_attributes_fn *fake_attributes;

static void *control(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    return symbol;
}

bool fake_is_hip(void)
{
    return strncmp(test_device_name(), "hip", 3) == 0;
}

const char *fake_api(void)
{
    return fake_is_hip() ? "hip" : "cuda";
}

void fake_load(void)
{
    const char *path = getenv(fake_is_hip() ? "RUNNEL_HIP" : "RUNNEL_CUDA");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        test_skip("neither RUNNEL_CUDA nor RUNNEL_HIP names the fake driver");
    *(void **)&fake_live = control(library, "fake_control_live");
    *(void **)&fake_fail = control(library, "fake_control_fail");
    *(void **)&fake_meet = control(library, "fake_control_meet");
    *(void **)&fake_calls = control(library, "fake_control_calls");
    *(void **)&fake_failed = control(library, "fake_control_failed");
    *(void **)&fake_break = control(library, "fake_control_break");
    *(void **)&fake_capture = control(library, "fake_control_capture");
    *(void **)&fake_image = control(library, "fake_control_image");
    *(void **)&fake_complaint = control(library, "fake_control_complaint");
    *(void **)&fake_attributes = control(library, "fake_control_attributes");
}

void *fake_foreign(void)
{
    static void *context;
    void *before;
    if (fake_is_hip())
        return (void *)1;
    if (context)
        return context;
    void *library = dlopen(getenv("RUNNEL_CUDA"), RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    int (*create)(void **, unsigned, int);
    int (*pop)(void **);
    *(void **)&create = control(library, "cuCtxCreate_v2");
    *(void **)&pop = control(library, "cuCtxPopCurrent_v2");
    if (create(&context, 0, 0) == 0)
        pop(&before);
    return context;
}

void fake_expect_empty(void)
{
    assert_int_equal(test_held(0), 0);
    struct fake_live live;
    fake_live(&live);
    if (fake_is_hip())
        live.contexts = 0;  // devices stay open
    if (live.contexts || live.streams || live.events || live.modules ||
        live.graphs || live.execs || live.blocks || live.leaked)
        fail_msg("the driver holds %zu contexts, %zu streams, %zu events, %zu "
                 "modules, %zu graphs, %zu executable graphs, %zu "
                 "blocks; %zu were left to their context: %s",
                 live.contexts, live.streams, live.events, live.modules,
                 live.graphs, live.execs, live.blocks, live.leaked,
                 fake_complaint());
    if (live.misuses)
        fail_msg("%zu misuses: %s", live.misuses, fake_complaint());
}

// --- Kernels in C ---------------------------------------------------------

static rnl_status add(const rnl_native_call *call)
{
    int *ints = *(int *const *)call->arguments[0];
    int value = *(const int *)call->arguments[1];
    int count = *(const int *)call->arguments[2];
    for (uint64_t block = 0; block < call->block_count; block++)
        for (uint32_t i = 0; i < call->block.x; i++) {
            uint64_t at = (call->first_block + block) * call->block.x + i;
            if (at < (uint64_t)count)
                ints[at] += value;
        }
    return RNL_OK;
}

static const rnl_parameter parameters[] = {
    {RNL_VALUE_POINTER, 8, 8, ""},
    {RNL_VALUE_INTEGER, 4, 4, ""},
    {RNL_VALUE_INTEGER, 4, 4, ""},
};
static const struct fake_kernel kernels[] = {{"add", add, 3, parameters}};

void fake_open(rnl_context *context, rnl_stream *stream, rnl_stream_flags flags,
               rnl_buffer *buffer, size_t size)
{
    fake_load();
    assert_ok(rnl_context_open(fake_api(), 0, NULL, context));
    assert_ok(rnl_stream_create(*context, RNL_STREAM_OPTIONS(.flags = flags),
                                stream));
    assert_ok(rnl_buffer_create(*context, size, NULL, buffer));
}

void fake_close(rnl_context context, rnl_stream stream, rnl_buffer buffer)
{
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

rnl_status fake_module(rnl_context context, rnl_module *out_module)
{
    size_t size;
    void *image = fake_image(kernels, 1, &size);
    assert_non_null(image);
    rnl_status status =
        rnl_module_load(context, image, size, "adder", out_module);
    free(image);
    return status;
}

// --- Other processes ------------------------------------------------------

bool fake_is_child(void)
{
    return getenv("TEST_CHILD") != NULL;
}

int fake_spawn(const char *test, const char *const *environment)
{
    pid_t pid = test_fork();
    if (pid == 0) {
        setenv("TEST_CHILD", "1", 1);
        for (; environment && *environment; environment++)
            putenv((char *)*environment);
        execl("/proc/self/exe", "test", test, (char *)NULL);
        _exit(127);
    }
    return test_wait(pid);
}

static void expect_no_device(const char *words)
{
    size_t count = 1;
    const char *api = fake_api(), *reason = NULL;
    rnl_device device;
    bool present = true;
    assert_ok(rnl_device_count(api, &count));
    assert_int_equal(count, 0);
    assert_ok(rnl_api_reason(api, &reason));
    if (!strstr(reason, words))
        fail_msg("'%s' is not in: %s", words, reason);
    assert_status(rnl_device_get(api, 0, &device), RNL_ERROR_NO_DEVICE);
    assert_non_null(strstr(rnl_last_error()->message, words));
    assert_ok(rnl_has_accelerator(&present));
    assert_false(present);
    assert_ok(rnl_device_default(&device));
}

void fake_expect_absent(const char *test, const char *setting,
                        const char *words)
{
    if (fake_is_child())
        expect_no_device(words);
    else
        assert_int_equal(fake_spawn(test, (const char *[]){setting, NULL}), 0);
}

pid_t fake_start(const char *test, int *out_to, rnl_ipc_handle *out_handle)
{
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t pid = test_fork();
    if (pid == 0) {
        dup2(to[0], 0);
        close(to[0]);
        close(to[1]);
        dup2(from[1], 3);
        setenv("TEST_CHILD", "1", 1);
        execl("/proc/self/exe", "test", test, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    assert_int_equal(read(from[0], out_handle, sizeof *out_handle),
                     sizeof *out_handle);
    close(from[0]);
    *out_to = to[1];
    return pid;
}

void fake_finish(pid_t process, int to)
{
    close(to);
    assert_int_equal(test_wait(process), 0);
}

// --- Host functions --------------------------------------------------------

static void await(_Atomic int *word)
{
    while (!atomic_load(word))
        sched_yield();
}

void fake_hold(rnl_status status, void *gate)
{
    (void)status;
    atomic_store(&((struct fake_gate *)gate)->entered, 1);
    await(&((struct fake_gate *)gate)->open);
}

void fake_hold_call(void *gate)
{
    fake_hold(RNL_OK, gate);
}

void fake_await_entered(struct fake_gate *gate)
{
    await(&gate->entered);
}

void fake_count(rnl_status status, void *told)
{
    struct fake_told *own = told;
    atomic_store(&own->status, (int)status);
    atomic_fetch_add(&own->count, 1);
}

void fake_see(rnl_status status, void *seen)
{
    *(rnl_status *)seen = status;
}

// What all conformance tests share. The suite uses the public headers alone and
// runs on the device that RUNNEL_TEST_DEVICE names, "cpu:0" when it is not set.
//
// Every test ends with the check that the library holds no memory any more, so
// each is a leak test too. Nothing sleeps to wait for work: a gate holds a
// stream shut until the test opens it.
#pragma once

#include "test.h"

#include <stdlib.h>
#include <string.h>

// The frame's RNL_TEST, between suite_begin and suite_end.
#undef RNL_TEST
#define RNL_TEST(test_name)                                                  \
    static void test_name##_body(void);                                      \
    static void test_name(void **state __attribute__((unused)))              \
    {                                                                        \
        suite_begin(#test_name);                                             \
        test_name##_body();                                                  \
        suite_end();                                                         \
    }                                                                        \
    static struct test_case test_name##_case = {#test_name, test_name, 0};   \
    __attribute__((constructor)) static void test_name##_register(void)      \
    {                                                                        \
        test_register(&test_name##_case);                                    \
    }                                                                        \
    static void test_name##_body(void)

// The body of a process that suite_spawn starts; does nothing when reached in
// any other way.
#define SUITE_CHILD(child_name)                                              \
    static void child_name##_body(void);                                     \
    static void child_name(void **state __attribute__((unused)))             \
    {                                                                        \
        if (suite_is_child())                                                \
            child_name##_body();                                             \
    }                                                                        \
    static struct test_case child_name##_case = {#child_name, child_name, 0}; \
    __attribute__((constructor)) static void child_name##_register(void)     \
    {                                                                        \
        test_register(&child_name##_case);                                   \
    }                                                                        \
    static void child_name##_body(void)

// Skips a test that the profile of the device's api lists.
void suite_begin(const char *test);

// Releases the suite's context and checks that nothing is left.
void suite_end(void);

// --- The device under test -------------------------------------------------

const char *suite_api(void);
size_t suite_index(void);
bool suite_is_cpu(void);
bool suite_is_hip(void);
rnl_device suite_device(void);

// The test's context, opened at the first call and released by suite_end; and
// its default stream.
rnl_context suite_context(void);
rnl_stream suite_stream(void);

// True with RUNNEL_TEST_BATCHED: suite_stream and suite_new_stream are batched.
bool suite_is_batched(void);

// Another context of the same device; the caller's to release.
rnl_context suite_open(const rnl_context_options *options);

rnl_stream suite_new_stream(void);
rnl_event suite_new_event(void);
rnl_buffer suite_new_buffer(size_t size);

// Skips the test, with the device's reason, where it lacks the feature.
void suite_need(rnl_feature feature);

// The kernel `name` of `source`; skips the test where nothing compiles.
rnl_function suite_compile(const char *source, const char *name);
rnl_module suite_module(const char *source);

// A C function as a kernel; skips the test where there are none.
rnl_function suite_native(const char *name, rnl_native_fn native,
                          void *user_data);

// --- Bytes -----------------------------------------------------------------

void suite_upload(rnl_buffer buffer, const void *bytes, size_t size);
void suite_download(void *bytes, rnl_buffer buffer, size_t size);

// One in the order of a stream.
rnl_buffer suite_buffer_on(rnl_stream stream, size_t size);
void *suite_address(rnl_buffer buffer);  // of the device
rnl_pool_stats suite_pool_stats(rnl_context context);

// A buffer of `count` ints, each `value`; and the check that it still is.
rnl_buffer suite_ints(size_t count, int value);
void suite_expect_ints(rnl_buffer buffer, size_t count, int value);

// --- Expectations ----------------------------------------------------------

#define expect_ok(call) \
    test_status(suite_unless_old(call), RNL_OK, #call, __FILE__, __LINE__)

// Whether the driver is one that lacks something which newer ones have; on the
// main thread, the test is skipped where a call is refused for that.
bool suite_driver_is_old(void);
rnl_status suite_unless_old(rnl_status status);

// `call` fails with `expected` and says so properly: the same status in
// rnl_last_error(), a sentence, the function, and `parameter` (NULL: any).
#define expect_error(call, expected, parameter) \
    suite_expect_error((call), (expected), #call, (parameter), __FILE__, \
                       __LINE__)
void suite_expect_error(rnl_status status, rnl_status expected,
                        const char *call, const char *parameter,
                        const char *file, int line);

// Waits until the library holds no memory; fails after a generous while.
void suite_expect_empty(void);

// --- Gates -----------------------------------------------------------------

// Holds a stream shut: a host function that blocks until gate_open.
struct gate;

struct gate *gate_shut(rnl_stream stream);

// The same for a thread of the library: a native kernel of `blocks` blocks that
// each block their thread.
struct gate *gate_block_workers(rnl_stream stream, uint32_t blocks);

void gate_wait_entered(struct gate *gate);
void gate_open(struct gate *gate);

// After the work behind it is done: frees it.
void gate_free(struct gate *gate);

// A host function that counts its calls and keeps the last status; user_data
// points to one of these.
struct host_calls {
    _Atomic int count;
    _Atomic int status;
};
void count_host_call(rnl_status status, void *user_data);

// --- Other processes -------------------------------------------------------

bool suite_is_child(void);

// Runs the SUITE_CHILD of that name in a new process of this program, with
// `environment` ("NAME=value", NULL at the end; NULL for none) added. Returns
// its exit status, or minus the signal that ended it; skips the test if that
// process skips its own.
int suite_spawn(const char *child, const char *const *environment);

// Runs `body` in a forked process and returns what it returned, as above. It
// must not use cmocka's assertions.
int suite_fork(int (*body)(void));

// --- Profile ---------------------------------------------------------------

// A test that an api cannot pass, and why.
struct profile_entry {
    const char *api;
    const char *test;
    const char *reason;
    bool expected_failure;  // it should pass one day; otherwise it cannot
};

// How many of `wanted` streams may wait for values at once, so that no other
// stream is held up: a GPU's streams share a few hardware queues.
size_t suite_waiting_most(size_t wanted);

extern const struct profile_entry suite_profile[];
extern const size_t suite_profile_count;

// The frame of every test program: cmocka, with tests that register themselves.
//
//   #include "test.h"
//
//   RNL_TEST(a_released_stream_is_dead)
//   {
//       assert_int_equal(rnl_stream_release(NULL), RNL_OK);
//   }
//
// `RNL_TEST(` starts its line: the build finds the tests by that and runs each
// in a process of its own. A program runs one test given its name, all without,
// and lists them with --list.
#pragma once

// cmocka.h needs these four before it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include <runnel/runnel.h>

struct test_case {
    const char *name;
    void (*run)(void **state);
    struct test_case *next;
};

// Called before main by what RNL_TEST makes.
void test_register(struct test_case *test);

enum { TEST_SKIPPED = 77 };

// Ends the running test as skipped, and says why. The process exits with 77
// when the test was asked for by name.
_Noreturn void test_skip(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

// Skips a test of what becomes of faults, which sanitizers see to themselves.
void test_need_faults(void);

// RUNNEL_TEST_DEVICE, or "cpu:0".
const char *test_device_name(void);

#define RNL_TEST(test_name)                                                \
    static void test_name(void **state);                                   \
    static struct test_case test_name##_case = {#test_name, test_name, 0}; \
    __attribute__((constructor)) static void test_name##_register(void)    \
    {                                                                      \
        test_register(&test_name##_case);                                  \
    }                                                                      \
    static void test_name(void **state __attribute__((unused)))

// A fork whose child ends when its parent does: what a test starts is gone when
// the test runs out of time, and has no time limit of its own.
pid_t test_fork(void);

// Ends a child at once, once a coverage build has written what it counted.
_Noreturn void test_exit(int status);

// Waits for a child: its exit status, or minus the signal that ended it.
int test_wait(pid_t child);

// The bytes that the library holds when every object was released, once they
// are `most` or fewer, or after half a minute. Releasing does not wait, so
// threads of the library may still be on their way out: yields to them.
size_t test_held(size_t most);

// A line of the scorecard, "figure: NAME COUNT" on the standard output:
// tools/scorecard.py adds up the lines of a name over all programs that it
// runs. A program that uses no test.h prints the line itself.
void test_figure(const char *name, long count);

// The same for a set, "member: NAME ID": the scorecard counts each ID once.
void test_member(const char *name, const char *id);

// A status, with Runnel's own words when it is not the one expected.
void test_status(rnl_status status, rnl_status expected, const char *call,
                 const char *file, int line);

#define assert_status(call, expected) \
    test_status((call), (expected), #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(call, RNL_OK)

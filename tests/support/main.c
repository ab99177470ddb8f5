// Runs the tests of a program: see test.h.
#include "test.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_UNKNOWN_TEST = 2, HELD_SECONDS = 60 };

static struct test_case *first_test;
static struct test_case **last_link = &first_test;
static size_t test_count;
static size_t skip_count;

void test_register(struct test_case *test)
{
    *last_link = test;
    last_link = &test->next;
    test_count++;
}

void test_skip(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("skipped: ");
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    skip_count++;
    _skip(__FILE__, __LINE__);
    abort();  // _skip has left by longjmp
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED true
#endif
#endif
#if !defined(SANITIZED)
#define SANITIZED false
#endif

void test_need_faults(void)
{
    if (SANITIZED)
        test_skip("a sanitizer sees to faults itself");
}

const char *test_device_name(void)
{
    const char *name = getenv("RUNNEL_TEST_DEVICE");
    return name && *name ? name : "cpu:0";
}

static time_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

pid_t test_fork(void)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

#ifdef TEST_COVERAGE
void __gcov_dump(void);
#endif

void test_exit(int status)
{
#ifdef TEST_COVERAGE
    __gcov_dump();  // of the program itself, not of libraries
#endif
    _exit(status);
}

int test_wait(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

size_t test_held(size_t most)
{
    time_t end = seconds() + HELD_SECONDS;
    for (;;) {
        size_t held = SIZE_MAX;
        assert_ok(rnl_trim(&held));
        if (held <= most || seconds() >= end)
            return held;
        sched_yield();
    }
}

void test_figure(const char *name, long count)
{
    printf("figure: %s %ld\n", name, count);
}

void test_member(const char *name, const char *id)
{
    printf("member: %s %s\n", name, id);
}

void test_status(rnl_status status, rnl_status expected, const char *call,
                 const char *file, int line)
{
    if (status == expected)
        return;
    const char *message = rnl_last_error()->message;
    print_error("%s\n    gave %s, expected %s; last error: %s\n", call,
                rnl_status_name(status), rnl_status_name(expected),
                message && *message ? message : "none");
    _fail(file, line);
}

static struct test_case *find(const char *name)
{
    struct test_case *test = first_test;
    while (test && strcmp(test->name, name))
        test = test->next;
    return test;
}

static int list(void)
{
    for (struct test_case *test = first_test; test; test = test->next)
        puts(test->name);
    return EXIT_SUCCESS;
}

// cmocka turns crashes into failures, from inside the signal's handler. In a
// process for each test that only hides where it was: from the sanitizers, the
// debugger and ctest. What handled these signals before is put back.
static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
enum { CRASHES = sizeof crashes / sizeof *crashes };
static struct sigaction handlers[CRASHES];

static void run_case(void **state)
{
    const struct test_case *test = *state;
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &handlers[i], NULL);
    test->run(state);
}

// Runs `first` and the next `count - 1` as one cmocka group.
static int run(const struct test_case *first, size_t count)
{
    struct CMUnitTest *units = calloc(count, sizeof *units);
    if (!units)
        return EXIT_FAILURE;
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i], NULL, &handlers[i]);
    for (size_t i = 0; i < count; i++, first = first->next)
        units[i] = (struct CMUnitTest){.name = first->name,
                                       .test_func = run_case,
                                       .initial_state = (void *)first};
    int failures = _cmocka_run_group_tests("tests", units, count, NULL, NULL);
    free(units);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

// In the child of a fork nothing points to what other threads of the parent
// held, which is no leak. A test program may have its own.
static pid_t own_process;

__attribute__((weak)) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return getpid() != own_process;
}

int main(int argc, char **argv)
{
    own_process = getpid();
    // What a test printed must be seen also when a signal ends it.
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2)
        return run(first_test, test_count);
    if (!strcmp(argv[1], "--list"))
        return list();

    const struct test_case *test = find(argv[1]);
    if (!test) {
        fprintf(stderr, "%s: no test is called %s; --list shows all\n",
                argv[0], argv[1]);
        return EXIT_UNKNOWN_TEST;
    }
    int result = run(test, 1);
    return result == EXIT_SUCCESS && skip_count ? TEST_SKIPPED : result;
}

// What these tests use of cmocka, for machines that have none: the same names,
// the same output, so that nothing else knows the difference.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func, teardown_func;  // not used here
    void *initial_state;
};

// Returns how many failed.
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests,
                            size_t count, CMFixtureFunction setup,
                            CMFixtureFunction teardown);

// Both leave the test.
_Noreturn void _fail(const char *file, int line);
_Noreturn void _skip(const char *file, int line);

void print_message(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void print_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

// What the assertions come to: each leaves the test unless it holds.
void stand_in_true(int holds, const char *text, const char *file, int line);
void stand_in_numbers(uint64_t a, uint64_t b, int equal, const char *file,
                      int line);
void stand_in_strings(const char *a, const char *b, int equal,
                      const char *file, int line);
void stand_in_bytes(const void *a, const void *b, size_t size,
                    const char *file, int line);

#define fail() _fail(__FILE__, __LINE__)
#define skip() _skip(__FILE__, __LINE__)
#define fail_msg(...)                                \
    do {                                             \
        print_error("ERROR: " __VA_ARGS__);          \
        print_error("\n");                           \
        fail();                                      \
    } while (0)

#define assert_true(c) stand_in_true(!!(c), #c, __FILE__, __LINE__)
#define assert_false(c) stand_in_true(!(c), "!(" #c ")", __FILE__, __LINE__)
#define assert_null(p) stand_in_true(!(p), #p " == NULL", __FILE__, __LINE__)
#define assert_non_null(p) \
    stand_in_true(!!(p), #p " != NULL", __FILE__, __LINE__)

#define STAND_IN_NUMBERS(a, b, equal)                                  \
    stand_in_numbers((uint64_t)(a), (uint64_t)(b), equal, __FILE__,   \
                     __LINE__)
#define assert_int_equal(a, b) STAND_IN_NUMBERS(a, b, 1)
#define assert_int_not_equal(a, b) STAND_IN_NUMBERS(a, b, 0)
#define assert_ptr_equal(a, b) \
    STAND_IN_NUMBERS((uintptr_t)(a), (uintptr_t)(b), 1)
#define assert_ptr_not_equal(a, b) \
    STAND_IN_NUMBERS((uintptr_t)(a), (uintptr_t)(b), 0)
#define assert_in_range(value, least, most)                             \
    assert_true((uint64_t)(value) >= (uint64_t)(least) &&               \
                (uint64_t)(value) <= (uint64_t)(most))

#define assert_string_equal(a, b) \
    stand_in_strings((a), (b), 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) \
    stand_in_strings((a), (b), 0, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) \
    stand_in_bytes((a), (b), (size), __FILE__, __LINE__)

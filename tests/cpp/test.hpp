// The frame of the C++ tests: RNL_TEST as in tests/support/test.h, whose main
// runs one test of the name given. A failed check ends the process.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <runnel/runnel.hpp>

extern "C" {
struct test_case {
    const char *name;
    void (*run)(void **state);
    struct test_case *next;
};
void test_register(struct test_case *test);
const char *test_device_name(void);
}

#define RNL_TEST(test_name)                                               \
    static void test_name(void **);                                       \
    static test_case test_name##_case = {#test_name, test_name, nullptr}; \
    static const bool test_name##_listed =                                \
        (test_register(&test_name##_case), true);                         \
    static void test_name(void **)

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
                         #condition);                                       \
            std::_Exit(1);                                                  \
        }                                                                   \
    } while (false)

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmocka.h"

enum { PASSED, FAILED, SKIPPED };

static jmp_buf leave;

void print_message(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

void print_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

void _fail(const char *file, int line)
{
    print_error("[   LINE   ] --- %s:%d: error: Failure!\n", file, line);
    longjmp(leave, FAILED);
}

void _skip(const char *file, int line)
{
    (void)file, (void)line;
    longjmp(leave, SKIPPED);
}

// --- Assertions ------------------------------------------------------------

void stand_in_true(int holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    print_error("[  ERROR   ] --- %s\n", text);
    _fail(file, line);
}

void stand_in_numbers(uint64_t a, uint64_t b, int equal, const char *file,
                      int line)
{
    if ((a == b) == equal)
        return;
    print_error("[  ERROR   ] --- %#llx %s %#llx\n", (unsigned long long)a,
                equal ? "!=" : "==", (unsigned long long)b);
    _fail(file, line);
}

void stand_in_strings(const char *a, const char *b, int equal,
                      const char *file, int line)
{
    if (a && b && (strcmp(a, b) == 0) == equal)
        return;
    print_error("[  ERROR   ] --- \"%s\" %s \"%s\"\n", a ? a : "NULL",
                equal ? "!=" : "==", b ? b : "NULL");
    _fail(file, line);
}

void stand_in_bytes(const void *a, const void *b, size_t size,
                    const char *file, int line)
{
    const unsigned char *first = a, *second = b;
    for (size_t i = 0; i < size; i++) {
        if (first[i] == second[i])
            continue;
        print_error("[  ERROR   ] --- byte %zu: %#x != %#x\n", i, first[i],
                    second[i]);
        _fail(file, line);
    }
}

// --- Running ---------------------------------------------------------------

static int run_one(const struct CMUnitTest *test)
{
    static const char *const words[] = {"      OK", " FAILED ", " SKIPPED"};
    void *state = test->initial_state;
    print_message("[ RUN      ] %s\n", test->name);
    int result = PASSED;
    switch (setjmp(leave)) {
    case PASSED: test->test_func(&state); break;
    case FAILED: result = FAILED; break;
    default: result = SKIPPED; break;
    }
    print_message("[ %8s ] %s\n", words[result], test->name);
    return result;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests,
                            size_t count, CMFixtureFunction setup,
                            CMFixtureFunction teardown)
{
    size_t results[3] = {0};
    (void)setup, (void)teardown;
    print_message("[==========] %s: Running %zu test(s).\n", name, count);
    for (size_t i = 0; i < count; i++)
        results[run_one(&tests[i])]++;
    print_message("[==========] %zu passed, %zu failed, %zu skipped.\n",
                  results[PASSED], results[FAILED], results[SKIPPED]);
    return (int)results[FAILED];
}

// The allocation-failure sweep: a scenario runs again and again with its first,
// second, third … allocation failing, until it passes without any failing.
//
// Each k is tried twice. `Once`: only that allocation fails; the call that
// reports it is made again and must then succeed, which shows that the failure
// changed nothing. `For ever`: everything behind fails, too; the scenario ends
// at the first failure and must still be able to release all it has.
#pragma once

#include "test.h"

#include <stdlib.h>
#include <string.h>

// A scenario returns RNL_OK or the first failure, and leaves nothing behind.
void sweep(rnl_status (*scenario)(void));

// True when a call that ran out of memory is to be made again.
bool sweep_retries(void);

// A step of a scenario: `status` is the variable that ends it.
#define TRY(call)                                                     \
    do {                                                              \
        if (status == RNL_OK &&                                       \
            (status = (call)) == RNL_ERROR_OUT_OF_MEMORY &&           \
            sweep_retries())                                          \
            status = (call);                                          \
    } while (0)

// What must hold once all steps succeeded.
#define EXPECT(condition)                                             \
    do {                                                              \
        if (status == RNL_OK && !(condition))                         \
            sweep_wrong(#condition, __FILE__, __LINE__);              \
    } while (0)
void sweep_wrong(const char *what, const char *file, int line);

// A release, which never fails.
#define RELEASE(call)                                                 \
    do {                                                              \
        if ((call) != RNL_OK)                                         \
            sweep_wrong(#call, __FILE__, __LINE__);                   \
    } while (0)

// The device under test, opened with two threads.
rnl_status sweep_open(rnl_context *out_context);

// Waits until the library holds nothing.
void sweep_expect_empty(void);

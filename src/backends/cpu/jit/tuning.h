// Tuned constants of room jit. Not measured: the values are judgements.
#pragma once

#include <stddef.h>
#include <stdint.h>

// compile.c: time in which runnel-cc --identity answers, 10 s: slow disks
// against a program that waits for a broken compiler. 2026-11-28.
#define VERSION_TIMEOUT_NS UINT64_C(10000000000)

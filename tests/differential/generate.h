// Random kernels, each from a seed of its own, free of races and of undefined
// behaviour by construction:
//
//   * A thread writes its own four elements of `out`, its own four in each of
//     two sets of rows, and nothing else, but for commutative atomics on the
//     last 64, whose results it does not use.
//   * Shared memory is written between two barriers, an element by one thread,
//     or by atomics, whose results are used only by the element's one thread.
//   * Barriers stand where all threads of the block that live come by.
//   * A warp operation names the lanes that are there, known from ballots; what
//     comes from another lane is not used.
//   * Signed arithmetic cannot overflow, divisors are not 0, floats stay small.
//   * `limit` is at least 0 and at most 4 times the threads of a row of the
//     grid. Where it is above 0, so is `stride`.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A piece of a kernel that can be left out.
struct statement {
    char *head, *tail;  // the text around the inner statements
    struct statement *first, *next;
    bool dropped;       // left out, with all inside
    bool opened;        // left out, but for what is inside
};

struct kernel {
    char name[32];
    uint64_t seed;
    unsigned features;
    bool one_axis;  // its blocks have nothing but x
    struct statement *body;
};

enum { KERNEL_ATOMICS = 64, KERNEL_SLOTS = 12, KERNEL_SHARED = 1024 };

// With `all_axes` it is no kernel for one axis.
void kernel_generate(struct kernel *kernel, uint64_t seed, bool all_axes);
void kernel_free(struct kernel *kernel);

// The text of a module of `count` kernels; the caller frees it.
char *kernel_module(const struct kernel *kernels, size_t count);

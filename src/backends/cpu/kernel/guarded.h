// Memory with guards on both sides, for all that kernels may overrun: stacks,
// block memory, and variables of lanes. An access of a guard is a fault, so an
// overrun never reaches what lies beyond.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed memory of whole pages; NULL when memory is short. If `sparse`, the
// system does not set memory aside for pages that are never touched.
void *guarded_map(size_t size, bool sparse);

// The same for memory that vectors access: all pages are present, and so is a
// readable, unwritable page below. If a masked lane of a vector lies on an
// absent or guarded page, x86 processors finish the access in microcode, which
// takes many times as long; kernels that read their left neighbour's element
// have such a lane at the start of their memory.
void *guarded_map_present(size_t size);

// The size that it was mapped with.
void guarded_unmap(void *memory, size_t size);

// Address space that a mapping of that size takes, guards included.
size_t guarded_extent(size_t size);

enum guard_side { GUARD_NONE, GUARD_BELOW, GUARD_ABOVE };

// Which guard of a mapping an address lies in.
enum guard_side guarded_side(const void *memory, size_t size,
                             uintptr_t address);

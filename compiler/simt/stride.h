// A loop in which a thread steps over the whole grid, in memory form: found by
// stride.c, changed by interchange.c.
#pragma once

#include "ir.h"

// Slots with one store stand for the value stored.
struct stride_loop {
    const struct kernel *kernel;
    const struct loop *loop;
    int guard, before, header, latch, back;  // back: NONE if it is the latch
    unsigned way;               // of the latch, into the next round
    int skipped, left;          // where threads go that have no round; at last
    struct slot *index;         // only the header reads it (reg2mem)
    LLVMIntPredicate how;       // the index is below the limit: <, <=, signed
    LLVMOpcode cast;            // by which it is widened for that, or 0
    LLVMValueRef limit, step;   // constants or loads of such slots
    bool is_any_step;           // above 0 only if some thread has a round
    LLVMValueRef first;         // index of the first round
    LLVMValueRef advance;       // the store of the next one's
    unsigned rows;              // loads and stores of memory in a round
};

// With kernel, loop and header set.
bool stride_find(struct stride_loop *l);

bool stride_is_inside(const struct stride_loop *l, LLVMValueRef instruction);
bool stride_is_read_outside(const struct stride_loop *l,
                            const struct slot *slot);
bool stride_loads_memory(const struct kernel *kernel, LLVMValueRef at);
// Whether it reads, or writes, where nothing before it in its block does.
bool stride_is_row(const struct kernel *kernel, LLVMValueRef at);

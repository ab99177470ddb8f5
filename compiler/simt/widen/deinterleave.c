// Deinterleaves memory such as a0 b0 c0 a1 b1 c1 ... into vectors of a, b and
// c, and interleaves such vectors again.
#include "simt/widen/widen.h"

#include <string.h>

// Lane i of what is returned is that of number from(i) of both vectors.
static LLVMValueRef pick(struct emitter *e, LLVMValueRef one,
                         LLVMValueRef other, const int *from)
{
    LLVMValueRef mask[64];
    for (unsigned i = 0; i < e->width; i++)
        mask[i] = from[i] < 0 ? LLVMGetPoison(e->i32)
                              : number32(e, (uint64_t)from[i]);
    return LLVMBuildShuffleVector(e->builder, one, other,
                                  LLVMConstVector(mask, e->width), "");
}

LLVMValueRef pick_strided(struct emitter *e, LLVMValueRef one,
                        LLVMValueRef other, unsigned begin, unsigned step)
{
    int from[64];
    for (unsigned i = 0; i < e->width; i++)
        from[i] = (int)(begin + i * step);
    return pick(e, one, other, from);
}

// The lanes of two vectors by turns, from the middle on if `high`.
static LLVMValueRef pick_by_turns(struct emitter *e, LLVMValueRef one,
                                  LLVMValueRef other, bool high)
{
    int from[64], begin = high ? (int)e->width / 2 : 0;
    for (unsigned i = 0; i < e->width; i++)
        from[i] = begin + (int)(i / 2 + i % 2 * e->width);
    return pick(e, one, other, from);
}

// Lane i of vector `number`: the unit in memory order and the vector that holds
// the unit. `sorts`: from memory order to vectors of one unit each.
static LLVMValueRef pick_of_all(struct emitter *e, const LLVMValueRef *all,
                                unsigned count, unsigned number, bool sorts)
{
    LLVMValueRef found = all[0];
    int from[64];
    for (unsigned v = 0; v < count; v++) {
        for (unsigned i = 0; i < e->width; i++) {
            unsigned unit = sorts ? i * count + number : number * e->width + i;
            unsigned vector = sorts ? unit / e->width : unit % count;
            unsigned lane = sorts ? unit % e->width : unit / count;
            from[i] = vector == v ? (int)(lane + (v ? e->width : 0))
                                  : v ? (int)i : -1;
        }
        found = pick(e, found, all[v], from);
    }
    return found;
}

// For numbers that have no halves; a single one is sorted.
static void pick_all(struct emitter *e, LLVMValueRef *units, unsigned count,
                     bool sorts)
{
    LLVMValueRef picked[UNITS_MOST];
    if (count == 1)
        return;
    for (unsigned i = 0; i < count; i++)
        picked[i] = pick_of_all(e, units, count, i, sorts);
    memcpy(units, picked, count * sizeof *units);
}

void deinterleave(struct emitter *e, LLVMValueRef *units, unsigned count)
{
    LLVMValueRef sorted[2][UNITS_MOST];
    unsigned half = count / 2;
    if (count % 2) {
        pick_all(e, units, count, true);
        return;
    }
    for (unsigned odd = 0; odd < 2; odd++) {
        for (unsigned i = 0; i < half; i++)
            sorted[odd][i] =
                pick_strided(e, units[2 * i], units[2 * i + 1], odd, 2);
        deinterleave(e, sorted[odd], half);
    }
    for (unsigned i = 0; i < count; i++)
        units[i] = sorted[i % 2][i / 2];
}

void interleave(struct emitter *e, LLVMValueRef *units, unsigned count)
{
    LLVMValueRef interleaved[2][UNITS_MOST];
    unsigned half = count / 2;
    if (count % 2) {
        pick_all(e, units, count, false);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        interleaved[i % 2][i / 2] = units[i];
    interleave(e, interleaved[0], half);
    interleave(e, interleaved[1], half);
    for (unsigned i = 0; i < count; i++)
        units[i] = pick_by_turns(e, interleaved[0][i / 2],
                                 interleaved[1][i / 2], i % 2);
}

// Masked accesses of strided lanes. The mask is often that of a diagonal or a
// triangle: the active lanes begin or end within the gang, and half of the
// lanes may all be off. Each half is gathered or scattered separately, or
// skipped.
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

struct half_row {
    LLVMTypeRef type;
    LLVMValueRef first;  // lane 0's place, frozen
    int64_t stride;
    unsigned alignment;
};

bool half_access_suits(struct emitter *e, LLVMValueRef address,
                       LLVMTypeRef type)
{
    uint64_t size = LLVMABISizeOfType(e->kernel->layout, type);
    return e->mask && e->width == 32 && !e->kernel->compact &&
           target_vector_bytes() >= 64 && (size == 4 || size == 8) &&
           shape_of(&e->shapes, address).kind == SHAPE_AFFINE;
}

static LLVMValueRef half_of(struct emitter *e, LLVMValueRef vector,
                            unsigned half)
{
    LLVMValueRef lanes[16];
    for (unsigned i = 0; i < 16; i++)
        lanes[i] = number32(e, half * 16 + i);
    return LLVMBuildShuffleVector(e->builder, vector, vector,
                                  LLVMConstVector(lanes, 16), "");
}

// The places of the lanes of a half, counted from a frozen number:
// LLVM would add the distances to what a loop does not change.
static LLVMValueRef places_of_half(struct emitter *e, LLVMValueRef first,
                                   int64_t stride, unsigned half)
{
    LLVMValueRef offsets[16];
    for (unsigned i = 0; i < 16; i++)
        offsets[i] = number64(e, (uint64_t)(stride * (half * 16 + i)));
    LLVMValueRef all = LLVMConstVector(offsets, 16);
    return LLVMBuildGEP2(e->builder, e->i8, first, &all, 1, "");
}

// Gathers, or scatters `value` unless it is NULL, the active lanes of a half,
// if any. Returns the gathered vector.
static LLVMValueRef access_half(struct emitter *e, const struct half_row *row,
                                LLVMValueRef value, unsigned half)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef some = append(e, "half"), end = append(e, "half.end");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMTypeRef lanes = LLVMVectorType(row->type, 16);
    LLVMTypeRef bits = LLVMIntTypeInContext(e->context, 16);
    LLVMValueRef mask = half_of(e, e->mask, half);
    LLVMValueRef none = LLVMConstNull(lanes);
    LLVMValueRef any =
        LLVMBuildICmp(b, LLVMIntNE, LLVMBuildBitCast(b, mask, bits, ""),
                      LLVMConstNull(bits), "");
    LLVMBuildCondBr(b, any, some, end);
    position(e, some);
    LLVMValueRef places =
        places_of_half(e, row->first, row->stride, half);
    LLVMTypeRef overloads[] = {lanes, LLVMTypeOf(places)};
    LLVMValueRef aligned = number32(e, row->alignment);
    LLVMValueRef from[] = {places, aligned, mask, none};
    LLVMValueRef to[] = {value ? half_of(e, value, half) : NULL, places,
                         aligned, mask};
    LLVMValueRef made = call_intrinsic(
        e, value ? "llvm.masked.scatter" : "llvm.masked.gather", overloads, 2,
        value ? to : from, 4);
    LLVMBuildBr(b, end);
    position(e, end);
    if (value)
        return NULL;
    LLVMValueRef phi = LLVMBuildPhi(b, lanes, "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){none, made},
                    (LLVMBasicBlockRef[]){before, some}, 2);
    return phi;
}

LLVMValueRef half_access(struct emitter *e, LLVMValueRef at,
                             LLVMTypeRef type, int64_t further,
                             LLVMValueRef value)
{
    LLVMValueRef address = accessed_address(at), lanes[32], made[2];
    LLVMValueRef first =
        at_offset(e, lanes_scalar(e, address), (uint64_t)further);
    struct half_row row = {
        .type = type, .stride = shape_of(&e->shapes, address).stride,
        .alignment = alignment_at(at, further),
        .first = LLVMBuildFreeze(e->builder, first, "")};
    for (unsigned h = 0; h < 2; h++)
        made[h] = access_half(e, &row, value, h);
    for (unsigned i = 0; i < 32; i++)
        lanes[i] = number32(e, i);
    return value ? NULL
                 : LLVMBuildShuffleVector(e->builder, made[0], made[1],
                                          LLVMConstVector(lanes, 32), "");
}

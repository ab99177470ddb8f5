// The base of an emitter: types, functions, constants, memory and masks.
#include "simt/widen/widen.h"
#include "simt/ir/ir.h"

#include <string.h>

// --- Functions ---------------------------------------------------------------

void emitter_types(struct emitter *e)
{
    e->i1 = LLVMInt1TypeInContext(e->context);
    e->i8 = LLVMInt8TypeInContext(e->context);
    e->i32 = LLVMInt32TypeInContext(e->context);
    e->i64 = LLVMInt64TypeInContext(e->context);
    e->pointer = LLVMPointerTypeInContext(e->context, 0);
    e->void_type = LLVMVoidTypeInContext(e->context);
    e->mask_type = LLVMVectorType(e->i1, e->width);
}

LLVMTypeRef blocks_type(struct emitter *e)
{
    LLVMTypeRef parameters[] = {e->pointer, e->i64};
    return LLVMFunctionType(e->void_type, parameters, 2, 0);
}

LLVMValueRef emitter_function(struct emitter *e, const char *name,
                              LLVMTypeRef type)
{
    LLVMValueRef function =
        LLVMAddFunction(e->module, name, type ? type : blocks_type(e));
    if (!type)
        LLVMSetSection(function, simt_format(".text.rnl_blocks_%u",
                                             e->kernel->number));
    add_flag(function, "nounwind");
    prefer_wide_vectors(function);
    add_attribute(function, "probe-stack", "inline-asm");
    // All jump tables lie in one section: a kernel would seem to reach the
    // functions of others.
    add_attribute(function, "no-jump-tables", "true");
    return function;
}

struct emitter emitter_outlined(const struct emitter *e, const char *name,
                              LLVMTypeRef type)
{
    struct emitter beside = *e;
    beside.mask = NULL;
    beside.function = emitter_function(&beside, name, type);
    LLVMSetLinkage(beside.function, LLVMInternalLinkage);
    add_flag(beside.function, "noinline");
    beside.builder = LLVMCreateBuilderInContext(e->context);
    position(&beside, append(&beside, "entry"));
    return beside;
}

LLVMValueRef run_field(struct emitter *e, size_t offset, unsigned i)
{
    return load32(e, e->run, offset + 4 * i);
}

// --- Values ------------------------------------------------------------------

LLVMTypeRef vector_type(struct emitter *e, LLVMTypeRef element)
{
    return LLVMVectorType(element, e->width);
}

LLVMValueRef number32(struct emitter *e, uint64_t value)
{
    return LLVMConstInt(e->i32, value, 0);
}

LLVMValueRef number64(struct emitter *e, uint64_t value)
{
    return LLVMConstInt(e->i64, value, 0);
}

LLVMValueRef splat(struct emitter *e, LLVMValueRef scalar)
{
    LLVMTypeRef type = vector_type(e, LLVMTypeOf(scalar));
    if (LLVMIsConstant(scalar)) {
        LLVMValueRef all[64];
        for (unsigned i = 0; i < e->width; i++)
            all[i] = scalar;
        return LLVMConstVector(all, e->width);
    }
    LLVMValueRef one = LLVMBuildInsertElement(e->builder, LLVMGetPoison(type),
                                              scalar, number32(e, 0), "");
    LLVMValueRef zeros = LLVMConstNull(vector_type(e, e->i32));
    return LLVMBuildShuffleVector(e->builder, one, LLVMGetPoison(type), zeros,
                                  "");
}

LLVMValueRef steps(struct emitter *e, LLVMTypeRef type, int64_t stride)
{
    LLVMValueRef all[64];
    for (unsigned i = 0; i < e->width; i++)
        all[i] = LLVMConstInt(type, (uint64_t)(stride * i), 1);
    return LLVMConstVector(all, e->width);
}

LLVMValueRef extract(struct emitter *e, LLVMValueRef vector, LLVMValueRef lane)
{
    return LLVMBuildExtractElement(e->builder, vector, lane, "");
}

LLVMValueRef call_intrinsic(struct emitter *e, const char *name,
                            LLVMTypeRef *overloads, unsigned overload_count,
                            LLVMValueRef *arguments, unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(
        e->module, id, overloads, overload_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(e->context, id, overloads,
                                            overload_count);
    return LLVMBuildCall2(e->builder, type, function, arguments, count, "");
}

LLVMValueRef minimum(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef both[] = {a, b};
    return call_intrinsic(e, "llvm.umin", &type, 1, both, 2);
}

// --- Blocks and memory -------------------------------------------------------

LLVMBasicBlockRef append(struct emitter *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->context, e->function, name);
}

void position(struct emitter *e, LLVMBasicBlockRef block)
{
    LLVMPositionBuilderAtEnd(e->builder, block);
}

LLVMValueRef variable(struct emitter *e, LLVMTypeRef type, const char *name)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->context);
    LLVMPositionBuilder(b, e->entry, LLVMGetFirstInstruction(e->entry));
    LLVMValueRef made = LLVMBuildAlloca(b, type, name);
    LLVMDisposeBuilder(b);
    return made;
}

LLVMValueRef at_offset(struct emitter *e, LLVMValueRef base, uint64_t offset)
{
    LLVMValueRef index = number64(e, offset);
    return LLVMBuildGEP2(e->builder, e->i8, base, &index, 1, "");
}

LLVMValueRef load32(struct emitter *e, LLVMValueRef base, uint64_t offset)
{
    return LLVMBuildLoad2(e->builder, e->i32, at_offset(e, base, offset), "");
}

void store32(struct emitter *e, LLVMValueRef value, LLVMValueRef base,
             uint64_t offset)
{
    LLVMBuildStore(e->builder, value, at_offset(e, base, offset));
}

// --- Masks -------------------------------------------------------------------

LLVMValueRef mask_all(struct emitter *e)
{
    return LLVMConstAllOnes(e->mask_type);
}

LLVMValueRef mask_none(struct emitter *e)
{
    return LLVMConstNull(e->mask_type);
}

LLVMValueRef mask_or_all(struct emitter *e, LLVMValueRef mask)
{
    return mask ? mask : mask_all(e);
}

LLVMValueRef mask_bits(struct emitter *e, LLVMValueRef mask)
{
    return LLVMBuildBitCast(e->builder, mask_or_all(e, mask),
                            LLVMIntTypeInContext(e->context, e->width), "");
}

LLVMValueRef mask_bits32(struct emitter *e, LLVMValueRef mask)
{
    LLVMValueRef bits = mask_bits(e, mask);
    return e->width < 32 ? LLVMBuildZExt(e->builder, bits, e->i32, "") : bits;
}

LLVMValueRef mask_any(struct emitter *e, LLVMValueRef mask)
{
    LLVMValueRef bits = mask_bits(e, mask);
    return LLVMBuildICmp(e->builder, LLVMIntNE, bits,
                         LLVMConstNull(LLVMTypeOf(bits)), "any");
}

LLVMValueRef mask_is_full(struct emitter *e, LLVMValueRef mask)
{
    LLVMValueRef bits = mask_bits(e, mask);
    return LLVMBuildICmp(e->builder, LLVMIntEQ, bits,
                         LLVMConstAllOnes(LLVMTypeOf(bits)), "all");
}

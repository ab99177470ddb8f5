// Interleaves the chains of long sums. Unrolled gangs follow each other, often
// each with a chain of dependent sums, and a processor does not look ahead over
// enough chains to keep its units busy. If no store is in between, a few chains
// advance by one sum in turn.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

#include <stdlib.h>

struct chain_term {
    LLVMValueRef value;
    unsigned number;        // as they stood
    unsigned chain, depth;  // of a sum: both from 1 on
    uint64_t place;         // by chains that take turns, then by depth
};

struct span {
    struct chain_term *terms;
    unsigned count, chains, depth;
    struct map numbers;     // of instructions, plus 1
};

static struct chain_term *term_of(struct span *s, LLVMValueRef value)
{
    uintptr_t number = (uintptr_t)map_get(&s->numbers, value);
    return number ? &s->terms[number - 1] : NULL;
}

static bool is_sum(LLVMTargetDataRef layout, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMIsABinaryOperator(value) &&
           LLVMGetInstructionOpcode(value) == LLVMFAdd &&
           LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
           LLVMABISizeOfType(layout, type) == target_vector_bytes();
}

// Whether an instruction may change places with others that may.
static bool is_free(LLVMValueRef value)
{
    if (LLVMIsALoadInst(value))
        return is_plain_access(value);
    return LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) ||
           LLVMIsAGetElementPtrInst(value) ||
           LLVMIsAInsertElementInst(value) ||
           LLVMIsAShuffleVectorInst(value) ||
           LLVMIsAExtractElementInst(value);
}

// Adds a sum to the chain of its operand. False if two operands are chains.
static bool find_chain(struct span *s, struct chain_term *term)
{
    for (unsigned i = 0; i < 2; i++) {
        struct chain_term *before = term_of(s, LLVMGetOperand(term->value, i));
        if (!before || before->depth == 0)
            continue;
        if (term->depth > 0)
            return false;
        term->chain = before->chain;
        term->depth = before->depth + 1;
    }
    if (term->depth == 0) {
        term->chain = ++s->chains;
        term->depth = 1;
    }
    s->depth = term->depth > s->depth ? term->depth : s->depth;
    return true;
}

// Moves the operands of sums up and all other instructions down. False if an
// instruction would stand in front of its operand.
static bool find_places(struct span *s)
{
    const unsigned turns = target_sums_in_turn();
    for (unsigned n = s->count; n-- > 0;) {
        struct chain_term *term = &s->terms[n];
        uint64_t own = UINT64_MAX;
        if (term->depth > 0)
            own = (uint64_t)((term->chain - 1) / turns) << 32 | term->depth;
        if (term->place < own && term->depth > 0)
            return false;
        term->place = own < term->place ? own : term->place;
        for (int i = 0; i < LLVMGetNumOperands(term->value); i++) {
            struct chain_term *part =
                term_of(s, LLVMGetOperand(term->value, (unsigned)i));
            if (part && term->place < part->place)
                part->place = term->place;
        }
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct chain_term *left = a, *right = b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

// Takes what is free from an instruction on. Returns the first that is not.
static LLVMValueRef read_span(struct span *s, LLVMValueRef at)
{
    s->count = s->chains = s->depth = 0;
    for (; is_free(at); at = LLVMGetNextInstruction(at)) {
        s->terms = simt_grow(s->terms, s->count, sizeof *s->terms);
        s->terms[s->count] = (struct chain_term){
            .value = at, .number = s->count, .place = UINT64_MAX};
        s->count++;
    }
    return at;
}

static bool find_chains(struct span *s, LLVMTargetDataRef layout)
{
    if (s->count < 2 * REDUCTION_LONG)
        return false;
    map_clear(&s->numbers);
    for (unsigned i = 0; i < s->count; i++) {
        struct chain_term *term = &s->terms[i];
        map_set(&s->numbers, term->value, (void *)(uintptr_t)(i + 1));
        if (is_sum(layout, term->value) && !find_chain(s, term))
            return false;
    }
    return s->chains > 1 && s->depth >= REDUCTION_LONG;
}

static void interleave_block(struct span *s, LLVMTargetDataRef layout,
                             LLVMBuilderRef b, LLVMBasicBlockRef block)
{
    LLVMValueRef at = LLVMGetFirstInstruction(block);
    for (; at; at = LLVMGetNextInstruction(at)) {
        at = read_span(s, at);  // a block ends with what is not free
        if (!find_chains(s, layout) || !find_places(s))
            continue;
        qsort(s->terms, s->count, sizeof *s->terms, compare);
        LLVMPositionBuilderBefore(b, at);
        for (unsigned i = 0; i < s->count; i++) {
            LLVMValueRef value = s->terms[i].value;
            size_t size;
            LLVMInstructionRemoveFromParent(value);
            LLVMInsertIntoBuilderWithName(b, value,
                                          LLVMGetValueName2(value, &size));
        }
    }
}

void interleave_reductions(LLVMModuleRef module)
{
    if (target_vector_bytes() != 64)
        return;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    struct span span = {0};
    for (LLVMBasicBlockRef block = first_block(module); block;
         block = next_block(block))
        interleave_block(&span, layout, b, block);
    LLVMDisposeBuilder(b);
}

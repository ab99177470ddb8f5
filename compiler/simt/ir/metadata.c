// Hints for LLVM's optimiser, as metadata.
#include "simt/ir/ir.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

LLVMMetadataRef distinct_node(LLVMContextRef context, LLVMMetadataRef more)
{
    LLVMMetadataRef parts[] = {LLVMTemporaryMDNode(context, NULL, 0), more};
    LLVMMetadataRef node =
        LLVMMDNodeInContext2(context, parts, more ? 2 : 1);
    LLVMMetadataReplaceAllUsesWith(parts[0], node);
    return node;
}

void loop_hint(LLVMValueRef back, const char *hint, unsigned number)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(back));
    LLVMMetadataRef parts[] = {
        LLVMMDStringInContext2(context, hint, strlen(hint)),
        LLVMValueAsMetadata(
            LLVMConstInt(LLVMInt32TypeInContext(context), number, 0))};
    LLVMMetadataRef node = distinct_node(
        context, LLVMMDNodeInContext2(context, parts, number > 0 ? 2 : 1));
    LLVMSetMetadata(back, LLVMGetMDKindIDInContext(context, "llvm.loop", 9),
                    LLVMMetadataAsValue(context, node));
}

void unlikely_hint(LLVMValueRef branch)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(branch));
    LLVMTypeRef number = LLVMInt32TypeInContext(context);
    LLVMMetadataRef parts[] = {
        LLVMMDStringInContext2(context, "branch_weights", 14),
        LLVMValueAsMetadata(LLVMConstInt(number, 1, 0)),
        LLVMValueAsMetadata(LLVMConstInt(number, 1000, 0))};
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(context, "prof", 4),
                    LLVMMetadataAsValue(
                        context, LLVMMDNodeInContext2(context, parts, 3)));
}

void set_range(LLVMValueRef at, unsigned first, unsigned end)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMContextRef context = LLVMGetTypeContext(type);
    LLVMMetadataRef ends[] = {
        LLVMValueAsMetadata(LLVMConstInt(type, first, 0)),
        LLVMValueAsMetadata(LLVMConstInt(type, end, 0))};
    LLVMMetadataRef range = LLVMMDNodeInContext2(context, ends, 2);
    LLVMSetMetadata(at, LLVMGetMDKindIDInContext(context, "range", 5),
                    LLVMMetadataAsValue(context, range));
}

// --- Alias scopes ------------------------------------------------------------

static const char *const kinds[] = {"alias.scope", "noalias"};

unsigned alias_kind(LLVMContextRef context, bool shared)
{
    const char *name = kinds[shared ? 0 : 1];
    return LLVMGetMDKindIDInContext(context, name, (unsigned)strlen(name));
}

void alias_copy(LLVMValueRef from, LLVMValueRef to)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(from));
    for (int shared = 0; shared < 2; shared++) {
        unsigned kind = alias_kind(context, shared != 0);
        LLVMValueRef mark = LLVMGetMetadata(from, kind);
        if (mark)
            LLVMSetMetadata(to, kind, mark);
    }
}

static bool is_marked(LLVMValueRef at, bool shared)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(at));
    return LLVMGetMetadata(at, alias_kind(context, shared)) != NULL;
}

bool alias_is_shared(LLVMValueRef at)
{
    return is_marked(at, true);
}

bool alias_is_array(LLVMValueRef at)
{
    return is_marked(at, false);
}

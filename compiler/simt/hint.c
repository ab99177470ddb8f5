// What code tells LLVM's optimiser beside itself.
#include "ir.h"

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

void seldom_hint(LLVMValueRef branch)
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

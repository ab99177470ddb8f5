// Tier F: threads read the index and the sizes of their block and of the grid
// from memory, which no store of a kernel changes. Accesses are marked with
// types (as for strict aliasing, which kernels are not compiled with), so that
// the optimiser reads these numbers once for all threads of a block. Alias
// scopes would not do: each function that is inlined gets new ones.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

#include <string.h>

static LLVMMetadataRef string_of(LLVMContextRef context, const char *text)
{
    return LLVMMDStringInContext2(context, text, strlen(text));
}

// The mark of a type that has nothing in common with any other.
static LLVMValueRef mark_of(LLVMContextRef context, const char *name)
{
    LLVMMetadataRef zero = LLVMValueAsMetadata(
        LLVMConstInt(LLVMInt64TypeInContext(context), 0, 0));
    LLVMMetadataRef top = string_of(context, "runnel");
    top = LLVMMDNodeInContext2(context, &top, 1);
    LLVMMetadataRef parts[] = {string_of(context, name), top, zero};
    LLVMMetadataRef type = LLVMMDNodeInContext2(context, parts, 3);
    LLVMMetadataRef access[] = {type, type, zero};
    return LLVMMetadataAsValue(context,
                               LLVMMDNodeInContext2(context, access, 3));
}

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

void tbaa_mark_state(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned kind = LLVMGetMDKindIDInContext(context, "tbaa", 4);
    LLVMValueRef state = mark_of(context, "state");
    LLVMValueRef other = mark_of(context, "other");
    for (LLVMBasicBlockRef block = first_block(module); block;
         block = next_block(block)) {
        size_t length;
        const char *name =
            LLVMGetValueName2(LLVMGetBasicBlockParent(block), &length);
        bool reads = begins_with(name, "rnl_block_") ||
                     begins_with(name, "rnl_grid_size_");
        bool writes = strcmp(name, "rnl_enter") == 0;
        for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
             at = LLVMGetNextInstruction(at))
            if (LLVMIsALoadInst(at) && reads)
                LLVMSetMetadata(at, kind, state);
            else if (LLVMIsAStoreInst(at) && !writes && !reads &&
                     !LLVMGetVolatile(at))
                LLVMSetMetadata(at, kind, other);
    }
}

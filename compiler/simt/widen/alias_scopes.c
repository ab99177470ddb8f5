// Marks accesses with alias scopes: the arrays of arguments never overlap the
// shared memory of a block or the frames of gangs. LLVM may then keep shared
// variables in registers while the kernel walks through arrays and gangs.
#include "simt/widen/widen.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <string.h>

static LLVMMetadataRef scope_of(struct emitter *e)
{
    if (!e->shared_scope) {
        LLVMMetadataRef domain = distinct_node(e->context, NULL);
        LLVMMetadataRef scope = distinct_node(e->context, domain);
        e->shared_scope = LLVMMDNodeInContext2(e->context, &scope, 1);
    }
    return e->shared_scope;
}

static void mark(struct emitter *e, LLVMValueRef made, bool shared)
{
    LLVMSetMetadata(made, alias_kind(e->context, shared),
                    LLVMMetadataAsValue(e->context, scope_of(e)));
}

void alias_mark(struct emitter *e, LLVMValueRef address, LLVMValueRef made)
{
    bool shared = address_is_shared(e->kernel, address, 0);
    if (shared || slots_argument_array(e->kernel, address))
        mark(e, made, shared);
}

// A value that is loaded once for all gangs has to stay in a register: with 16
// registers most values would be spilled.
void alias_mark_frame(struct emitter *e, LLVMValueRef made)
{
    if (target_vector_bytes() == 64)
        mark(e, made, false);
}

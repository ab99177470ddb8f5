// What the host gives a kernel as an argument never points to what a block
// shares, nor do gangs' frames lie there. Accesses are marked (alias scopes),
// so that the optimiser may keep shared variables in registers while the kernel
// goes through arrays and from one gang to the next.
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

// What is loaded once for all gangs has to stay in registers: with 16 of them
// most goes to the stack instead.
void alias_mark_frame(struct emitter *e, LLVMValueRef made)
{
    if (target_vector_bytes() == 64)
        mark(e, made, false);
}

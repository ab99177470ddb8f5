// What the host gives a kernel as an argument never points to what a block
// shares, nor do chunks' records lie there. Accesses are marked (alias scopes),
// so that the optimiser may keep shared variables in registers while the kernel
// goes through arrays and from one chunk to the next.
#include "emit.h"

#include <string.h>

static const char *const kinds[] = {"alias.scope", "noalias"};

static unsigned kind_of(LLVMContextRef context, bool shared)
{
    const char *name = kinds[shared ? 0 : 1];
    return LLVMGetMDKindIDInContext(context, name, (unsigned)strlen(name));
}

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
    LLVMSetMetadata(made, kind_of(e->context, shared),
                    LLVMMetadataAsValue(e->context, scope_of(e)));
}

void apart_mark(struct emitter *e, LLVMValueRef address, LLVMValueRef made)
{
    bool shared = access_is_shared(e, address, 0);
    if (shared || stream_array(e->kernel, address))
        mark(e, made, shared);
}

// What is loaded once for all chunks has to stay in registers: with 16 of them
// most goes to the stack instead.
void apart_mark_kept(struct emitter *e, LLVMValueRef made)
{
    if (target_vector_bytes() == 64)
        mark(e, made, false);
}

void apart_copy(LLVMValueRef from, LLVMValueRef to)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(from));
    for (int shared = 0; shared < 2; shared++) {
        unsigned kind = kind_of(context, shared != 0);
        LLVMValueRef mark = LLVMGetMetadata(from, kind);
        if (mark)
            LLVMSetMetadata(to, kind, mark);
    }
}

static bool is_marked(LLVMValueRef at, bool shared)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(at));
    return LLVMGetMetadata(at, kind_of(context, shared)) != NULL;
}

bool apart_is_shared(LLVMValueRef at)
{
    return is_marked(at, true);
}

bool apart_is_array(LLVMValueRef at)
{
    return is_marked(at, false);
}

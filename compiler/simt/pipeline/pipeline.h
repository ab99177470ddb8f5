// Room pipeline: the way of a module through the SIMT compiler.
#pragma once

#include "simt/pipeline/tuning.h"
#include "simt/codegen/codegen.h"
#include "simt/simt.h"
#include "simt/transform/transform.h"

// --- passes.c: the table of passes -------------------------------------------

// Between stages a module is copied, linked or written.
enum stage {
    STAGE_SOURCE, STAGE_ROTATE, STAGE_CANONICAL, STAGE_MEMORY_FORM,
    STAGE_KERNEL, STAGE_VECTORS, STAGE_SCALAR_BEGIN, STAGE_SCALAR, STAGE_CODE,
    STAGE_DEMOTE,
};

// The state that passes and conditions share.
struct compilation {
    const struct simt_job *job;
    LLVMTargetMachineRef machine;
    struct kernel *kernels;  // of the module
    unsigned count;
    struct kernel *kernel;   // of a pass of STAGE_KERNEL
    struct kernel unread;    // the same kernel before read-kernel
    const char *combine;     // combine_again of the module
    bool fixed;              // the code is for one block size
    bool many_loops;         // too many to unroll
    bool has_scalar;         // kernels of tier F
    bool huge, split;        // a huge kernel; long blocks
};

// Runs the passes of a stage. Returns a message to dispose of, or NULL.
char *passes_run(struct compilation *c, LLVMModuleRef module,
                 enum stage stage);
// Writes a module to a file of that name, if there are dumps.
void dump_module(const struct simt_job *job, LLVMModuleRef module,
                 const char *name);
// The thread of a kernel, or NULL.
LLVMValueRef thread_of(LLVMModuleRef module, unsigned number);

// --- linkage.c ---------------------------------------------------------------

void resolve_aliases(LLVMModuleRef module);
void unify_targets(LLVMModuleRef module);       // one processor for all
void export_variables(LLVMModuleRef module);    // for the object's other module
void drop_used_list(LLVMModuleRef module);      // nothing is kept for its name
void import_variables(LLVMModuleRef module);    // of the object's other module
void set_inlining(LLVMModuleRef module);        // all but kept functions
void internalize_functions(LLVMModuleRef module);

// --- parallel_codegen.c ------------------------------------------------------

// The variants of a module, divided among processes. Each process works on
// partition `mine` (the first process on 0) and writes an object of its own.
struct partitions {
    unsigned count, mine;
    int ends[PARTITIONS_MOST];  // pipes: of the children, or a child's own [0]
};
void partitions_start(struct partitions *partitions, LLVMModuleRef module,
                      unsigned most);
char *partitions_path(const struct partitions *partitions, const char *object);
// Ends a child and tells its parent whether the object was written.
_Noreturn void partitions_end(const struct partitions *partitions, bool made);
// Waits for the children: true if all succeeded.
bool partitions_wait(const struct partitions *partitions);

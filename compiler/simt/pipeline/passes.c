// The passes of the SIMT compiler: one table, in the order in which they run.
#include "simt/pipeline/pipeline.h"
#include "simt/pipeline/tuning.h"
#include "simt/codegen/codegen.h"
#include "simt/transform/transform.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"
#include "simt/simt.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

#define COMBINE "instcombine<no-verify-fixpoint>"

// Without PRE: an expression in one side of a branch and behind the branch must
// not become a phi, whose lanes would look different.
#define NUMBER_VALUES "gvn<no-pre>"

// --- Conditions --------------------------------------------------------------

static bool is_fixed(const struct compilation *c)
{
    return c->fixed;
}

static bool is_general(const struct compilation *c)
{
    return !c->fixed;
}

static bool has_scalar(const struct compilation *c)
{
    return c->has_scalar;
}

static bool has_no_scalar(const struct compilation *c)
{
    return !c->has_scalar;
}

static bool is_small(const struct compilation *c)
{
    return c->kernel->size <= KERNEL_LARGE;
}

static bool may_refuse(const struct compilation *c)
{
    return !c->kernel->force_vectors;
}

static bool is_large_code(const struct compilation *c)
{
    return c->huge || c->split;
}

// --- Passes of several steps -------------------------------------------------

LLVMValueRef thread_of(LLVMModuleRef module, unsigned number)
{
    return LLVMGetNamedFunction(module, simt_format("rnl_thread_%u", number));
}

static char *lower(struct compilation *c, LLVMModuleRef module)
{
    lower_arithmetic(module, c->job->scalar_only);
    return NULL;
}

static char *specialize(struct compilation *c, LLVMModuleRef module)
{
    specialize_block_size(module, c->job->block_size);
    return NULL;
}

// Whether a module is huge is asked before LLVM's passes change its size.
static char *prepare_inlining(struct compilation *c, LLVMModuleRef module)
{
    set_inlining(module);
    c->combine = combine_again(module);
    return NULL;
}

static char *canonical_loops(struct compilation *c, LLVMModuleRef module)
{
    return run_passes(
        module,
        simt_format(
            "function(loop-simplify,lcssa,loop(loop-rotate),"
            "loop(indvars,loop-unroll-full),sroa,scalarizer,early-cse<memssa>,"
            NUMBER_VALUES "," COMBINE ",scalarizer,simplifycfg,adce,"
            "lower-switch,loop-mssa(licm)%s,early-cse<memssa>,simplifycfg,"
            "lower-switch,fix-irreducible,adce),globaldce", c->combine));
}

static char *rotate(struct compilation *c, LLVMModuleRef module)
{
    c->many_loops = rotate_loops(module) > LOOPS_MOST;
    return NULL;
}

// A kernel that cannot be split loses its function.
static char *split_barriers(struct compilation *c, LLVMModuleRef module)
{
    for (unsigned i = 0; i < c->count; i++) {
        struct kernel *kernel = &c->kernels[i];
        LLVMValueRef thread = thread_of(module, i);
        if (!thread)
            continue;  // another kernel is the only one
        *kernel = (struct kernel){
            .number = i, .module = module,
            .context = LLVMGetModuleContext(module),
            .layout = LLVMGetModuleDataLayout(module),
            .function = thread, .force_vectors = c->job->force_vectors,
            .fixed = kernel->fixed, .across = kernel->across,
            .chosen = kernel->chosen, .alone = kernel->alone};
        if (!kernel_split(kernel)) {
            kernel->function = NULL;
            LLVMDeleteFunction(thread);
        }
    }
    return NULL;
}

static char *read_kernel(struct compilation *c, LLVMModuleRef module)
{
    struct kernel *kernel = c->kernel;
    (void)module;
    c->unread = *kernel;
    if (!kernel_read(kernel))
        return NULL;
    kernel->waits = kernel->barrier_count > 0 || kernel->has_warp_ops;
    kernel->bounded = !kernel->waits && kernel_is_bounded(kernel);
    return NULL;
}

// Each change of a loop makes the analysis of the kernel out of date. The new
// barriers are none of the source's, so kernel->waits stays.
static char *interchange(struct compilation *c, LLVMModuleRef module)
{
    struct kernel *kernel = c->kernel;
    bool waits = kernel->waits;
    (void)module;
    while (kernel->size <= KERNEL_LARGE && loop_interchange(kernel)) {
        c->unread.strides = true;
        *kernel = c->unread;
        if (!kernel_read(kernel))
            return NULL;
    }
    kernel->waits = waits;
    return NULL;
}

static char *plan(struct compilation *c, LLVMModuleRef module)
{
    (void)module;
    kernel_plan(c->kernel);
    return NULL;
}

static char *lay_out_private(struct compilation *c, LLVMModuleRef module)
{
    (void)module;
    private_layout(c->kernel, c->kernel->width);
    return NULL;
}

static char *judge(struct compilation *c, LLVMModuleRef module)
{
    (void)module;
    kernel_judge(c->kernel);
    return NULL;
}

static char *emit(struct compilation *c, LLVMModuleRef module)
{
    (void)module;
    emit_kernel(c->kernel);
    return NULL;
}

static char *drop_threads(struct compilation *c, LLVMModuleRef module)
{
    for (unsigned i = 0; i < c->count; i++)
        if (thread_of(module, i))
            LLVMDeleteFunction(thread_of(module, i));
    return NULL;
}

static char *internalize(struct compilation *c, LLVMModuleRef module)
{
    internalize_functions(module);
    c->combine = combine_again(module);
    return NULL;
}

static char *simplify_general(struct compilation *c, LLVMModuleRef module)
{
    return run_passes(
        module,
        simt_format("globaldce,function(sroa,early-cse<memssa>," COMBINE
                    ",simplifycfg,loop-simplify,lcssa,loop-mssa(licm),gvn,dse"
                    "%s,simplifycfg,adce)", c->combine));
}

// LLVM knows the number of iterations once freezes are gone.
static char *unroll_marked(LLVMModuleRef module)
{
    char *message = run_passes(module, "function(" COMBINE ",simplifycfg)");
    if (message || !mark_phases(module))
        return message;
    return run_passes(
        module,
        "function(loop-simplify,lcssa,loop-unroll<O2;full-unroll-max=64;"
        "no-partial;no-runtime;no-peeling;no-upperbound>,sccp,simplifycfg,"
        "early-cse<memssa>," COMBINE ",simplifycfg,gvn)");
}

// Loops are unrolled where that puts a variable into registers, which a copy of
// the module tells.
static char *forward_through_shared(struct compilation *c, LLVMModuleRef module)
{
    (void)c;
    if (!mark_phases(module))
        return NULL;
    LLVMModuleRef copy = LLVMCloneModule(module);
    char *message = unroll_marked(copy);
    bool gains = !message && forward_shared(copy);
    LLVMDisposeModule(copy);
    if (gains)
        message = unroll_marked(module);
    if (gains && !message)
        forward_shared(module);
    return message;
}

// LLVM searches for the definition of each variable from the begin of a block.
static char *split_vectors(struct compilation *c, LLVMModuleRef module)
{
    (void)c;
    return split_long_blocks(module)
               ? run_passes(module, "function(sroa,simplifycfg)") : NULL;
}

static char *split_code(struct compilation *c, LLVMModuleRef module)
{
    c->split = split_long_blocks(module);
    return NULL;
}

// No loop vectoriser: it miscompiles masked induction (llvm-project #156849).
static char *optimise_scalar(struct compilation *c, LLVMModuleRef module)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
    LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, !c->many_loops);
    LLVMErrorRef error =
        LLVMRunPasses(module, "default<O2>", c->machine, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? LLVMGetErrorMessage(error) : NULL;
}

// --- The table ---------------------------------------------------------------

struct pass {
    struct simt_pass is;
    enum stage stage;
    bool (*applies)(const struct compilation *c);  // NULL: always
    // Exactly one member is set, and does the work.
    const char *llvm;                              // passes of LLVM's
    void (*change)(LLVMModuleRef module);
    char *(*attempt)(LLVMModuleRef module);
    char *(*run)(struct compilation *c, LLVMModuleRef module);
};

// Reasons of several rows.
#define OF_OBJECT "the modules of an object would not fit together"
#define EXPECTED "the analysis of kernels relies on it"
#define OF_KERNEL "there is no vector code without it"

// Each row: name, condition, why the pass is needed (NULL: it can be skipped),
// and its purpose.
static const struct pass passes[] = {
    // --- The source module
    {{"aliases", "always", EXPECTED,
      "replaces aliases of functions by the functions"},
     STAGE_SOURCE, .change = resolve_aliases},
    {{"one-target", "always", NULL,
      "removes processors and features from functions, which LLVM would set up "
      "one by one"},
     STAGE_SOURCE, .change = unify_targets},
    {{"lower-arithmetic", "always", "kernels rely on a GPU's results",
      "gives divisions, shifts, conversions and bools a GPU's results"},
     STAGE_SOURCE, .run = lower},
    {{"export-variables", "always", OF_OBJECT,
      "makes variables visible to the module of vector code"},
     STAGE_SOURCE, .change = export_variables},
    {{"rotate-loops", "in huge functions", NULL,
      "moves conditions to the ends of loops while variables are in memory"},
     STAGE_ROTATE, .run = rotate},
    // --- A copy of it: threads, in a canonical form
    {{"block-size", "for one block size", NULL,
      "makes the sizes of blocks constants and gives indices a range"},
     STAGE_CANONICAL, is_fixed, .run = specialize},
    {{"drop-used", "always", OF_OBJECT,
      "removes llvm.used, which the source module keeps"},
     STAGE_CANONICAL, .change = drop_used_list},
    {{"import-variables", "always", OF_OBJECT,
      "leaves the definitions of variables to the source module"},
     STAGE_CANONICAL, .change = import_variables},
    {{"set-inlining", "always", EXPECTED,
      "marks all functions for inlining but those of the prelude that stay "
      "calls"},
     STAGE_CANONICAL, .run = prepare_inlining},
    {{"shared-callees", "where copies of a function would be large", NULL,
      "keeps pure functions that are called very often, with vector forms"},
     STAGE_CANONICAL, .attempt = shared_callees_keep},
    {{"limit-store-merge", "in huge functions", NULL,
      "puts fences into functions, across which LLVM merges no stores"},
     STAGE_CANONICAL, .change = store_merge_limit},
    {{"inline", "always", EXPECTED,
      "inlines all functions and puts variables into registers"},
     STAGE_CANONICAL,
     .llvm = "globaldce,function(sroa),always-inline,globaldce,"
             "function(sroa,early-cse<memssa>,simplifycfg," COMBINE ")"},
    {{"unions-to-sums", "always", NULL,
      "writes disjoint unions as sums, before narrowing hides that they are"},
     STAGE_CANONICAL, .change = unions_to_sums},
    {{"canonical-loops", "always", EXPECTED,
      "brings loops and branches into LLVM's canonical form, scalars only"},
     STAGE_CANONICAL, .run = canonical_loops},
    {{"release-store-merge", "always", EXPECTED,
      "removes the fences of limit-store-merge"},
     STAGE_CANONICAL, .change = store_merge_release},
    {{"lane-functions", "always", NULL,
      "keeps the prelude's functions that replace libm's where lanes differ"},
     STAGE_CANONICAL, .change = lane_functions_keep},
    {{"fold-estimates", "always", NULL,
      "computes estimates of constants"},
     STAGE_CANONICAL, .change = fold_estimates},
    {{"drop-scopes", "always", "alias scopes hold for one thread only",
      "removes the alias scopes of __restrict__"},
     STAGE_CANONICAL, .change = drop_scopes},
    {{"unroll-rows", "where each lane walks along a row of its own", NULL,
      "unrolls loops, so that neighbouring loads of a lane become one load"},
     STAGE_CANONICAL, .attempt = unroll_rows},
    {{"split-barriers", "always", EXPECTED,
      "makes every barrier begin a block"},
     STAGE_MEMORY_FORM, .run = split_barriers},
    {{"reg2mem", "always", EXPECTED,
      "puts values that outlive a block into memory"},
     STAGE_MEMORY_FORM, .llvm = "function(reg2mem)"},
    // --- Each kernel
    {{"read-kernel", "for each kernel", EXPECTED,
      "finds blocks, loops, barriers, slots and access groups"},
     STAGE_KERNEL, .run = read_kernel},
    {{"loop-interchange", "for each kernel that is not large", NULL,
      "lets the gangs of a block take iterations of grid-stride loops in turn"},
     STAGE_KERNEL, is_small, .run = interchange},
    {{"plan", "for each kernel", OF_KERNEL,
      "chooses the axis and the number of lanes"},
     STAGE_KERNEL, .run = plan},
    {{"private-layout", "for each kernel", NULL,
      "interleaves the elements of private arrays with those of other lanes"},
     STAGE_KERNEL, .run = lay_out_private},
    {{"profitability", "for each kernel, with --tier=auto", NULL,
      "leaves a kernel to tier F that the cost model finds faster there"},
     STAGE_KERNEL, may_refuse, .run = judge},
    {{"emit", "for each kernel", OF_KERNEL,
      "emits the variants of the kernel and the function that chooses one"},
     STAGE_KERNEL, .run = emit},
    // --- Vector code
    {{"drop-threads", "always", OF_OBJECT,
      "deletes the threads of kernels"},
     STAGE_VECTORS, .run = drop_threads},
    {{"internalize", "always", OF_OBJECT,
      "makes functions internal that vector code alone calls"},
     STAGE_VECTORS, .run = internalize},
    {{"split-blocks", "in functions with long blocks", NULL,
      "splits blocks, since LLVM's time grows with the square of their length"},
     STAGE_VECTORS, .run = split_vectors},
    {{"simplify-fixed", "for one block size", NULL,
      "simplifies, and unrolls the loops over gangs"},
     STAGE_VECTORS, is_fixed,
     .llvm = "globaldce,function(sroa,early-cse<memssa>," COMBINE
             ",simplifycfg,loop-simplify,lcssa,loop-mssa(licm),"
             "loop(indvars,loop-unroll-full),sroa,jump-threading,"
             "simplifycfg)"},
    {{"shared-forwarding", "for one block size", NULL,
      "unrolls loops from barrier to barrier where that keeps shared variables "
      "in registers"},
     STAGE_VECTORS, is_fixed, .run = forward_through_shared},
    {{"narrow-accesses", "for one block size", NULL,
      "makes accesses under constant masks accesses of short vectors"},
     STAGE_VECTORS, is_fixed, .change = narrow_accesses},
    {{"tile-forwarding", "for one block size", NULL,
      "reads arrays instead of their copies in shared memory"},
     STAGE_VECTORS, is_fixed, .change = forward_tiles},
    {{"number-values", "for one block size", NULL,
      "removes loads of stored values"},
     STAGE_VECTORS, is_fixed, .llvm = "function(gvn)"},
    {{"narrow-numbers", "for one block size", NULL,
      "makes scalars that LLVM took from stored vectors lanes again"},
     STAGE_VECTORS, is_fixed, .change = narrow_numbers},
    {{"clean-fixed", "for one block size", NULL,
      "removes stores that no load sees, and simplifies"},
     STAGE_VECTORS, is_fixed,
     .llvm = "function(dse," COMBINE ",dse,simplifycfg,adce)"},
    {{"interleave-reductions", "for one block size", NULL,
      "lets long sums of several gangs take turns"},
     STAGE_VECTORS, is_fixed, .change = interleave_reductions},
    {{"hoist-stores", "for one block size", NULL,
      "moves stores of shared memory up, so that loads find them done"},
     STAGE_VECTORS, is_fixed, .change = hoist_stores},
    {{"simplify", "for all block sizes", NULL,
      "simplifies, and moves loop-invariant code out of loops"},
     STAGE_VECTORS, is_general, .run = simplify_general},
    {{"half-promotion", "always", NULL,
      "computes halves as floats, which LLVM would do lane by lane"},
     STAGE_VECTORS, .change = promote_halves},
    {{"int16-narrowing", "always", NULL,
      "computes in 16 bits where all numbers fit"},
     STAGE_VECTORS, .change = narrow_to_int16},
    // --- The source module again: threads one by one
    {{"tbaa", "always", NULL,
      "marks the fields of blocks and grids as constant for threads"},
     STAGE_SCALAR_BEGIN, .change = tbaa_mark_state},
    {{"drop-used-again", "always", OF_OBJECT,
      "removes llvm.used, so that unused functions go"},
     STAGE_SCALAR_BEGIN, .change = drop_used_list},
    {{"yield-in-spin-loops", "with kernels of tier F",
      "threads that take turns would wait for ever",
      "lets other threads run where a loop may wait for them"},
     STAGE_SCALAR, has_scalar, .attempt = spin_loops_yield},
    {{"inline-rest", "always",
      "functions of the prelude would stay in the object",
      "inlines the prelude's functions into the functions that are left"},
     STAGE_SCALAR, .llvm = "globaldce,always-inline,globaldce"},
    {{"optimise", "with kernels of tier F", NULL,
      "runs LLVM's -O2 without its loop vectoriser"},
     STAGE_SCALAR, has_scalar, .run = optimise_scalar},
    {{"clean-rest", "without kernels of tier F", NULL,
      "simplifies the functions that are left"},
     STAGE_SCALAR, has_no_scalar,
     .llvm = "function(sroa,early-cse,simplifycfg)"},
    // --- Both modules, linked
    {{"split-blocks-again", "in functions with long blocks", NULL,
      "splits blocks for code generation"},
     STAGE_CODE, .run = split_code},
    {{"demote-to-stack", "in huge kernels and after split-blocks-again", NULL,
      "keeps numbers with very many uses on the stack"},
     STAGE_DEMOTE, is_large_code, .change = demote_to_stack},
    {{"sections", "always", "runnel-cc reads which sections a kernel reaches",
      "gives each function and variable a section"},
     STAGE_DEMOTE, .change = sections_set},
};

enum { PASSES = sizeof passes / sizeof *passes };

const struct simt_pass *simt_pass_at(size_t i)
{
    return i < PASSES ? &passes[i].is : NULL;
}

// --- Running -----------------------------------------------------------------

static bool is_skipped(const struct simt_job *job, const struct pass *pass)
{
    for (size_t i = 0; i < job->skipped_count; i++)
        if (strcmp(job->skipped[i], pass->is.name) == 0)
            return true;
    return false;
}

static char *run_pass(struct compilation *c, LLVMModuleRef module,
                      const struct pass *pass)
{
    if (pass->llvm)
        return run_passes(module, pass->llvm);
    if (pass->attempt)
        return pass->attempt(module);
    if (pass->run)
        return pass->run(c, module);
    pass->change(module);
    return NULL;
}

void dump_module(const struct simt_job *job, LLVMModuleRef module,
                 const char *name)
{
    char *message = NULL;
    if (job->dump)
        LLVMPrintModuleToFile(
            module, simt_format("%s.%s.ll", job->dump, name), &message);
    LLVMDisposeMessage(message);
}

// The copy of the source module for one block size has dumps of its own.
static void dump_after(const struct compilation *c, LLVMModuleRef module,
                       const struct pass *pass)
{
    const char *wanted = c->job->dump_after;
    if (wanted && strcmp(wanted, pass->is.name) == 0)
        dump_module(c->job, module,
                    simt_format("%s%s", c->fixed ? "fixed." : "", wanted));
}

char *passes_run(struct compilation *c, LLVMModuleRef module,
                 enum stage stage)
{
    for (size_t i = 0; i < PASSES; i++) {
        const struct pass *pass = &passes[i];
        if (pass->stage != stage || is_skipped(c->job, pass) ||
            (pass->applies && !pass->applies(c)))
            continue;
        char *message = run_pass(c, module, pass);
        if (message)
            return message;
        dump_after(c, module, pass);
        if (stage == STAGE_KERNEL && c->kernel->refusal)
            return NULL;
    }
    return NULL;
}

// Linkage, visibility and attributes of a module's functions and variables.
#include "simt/pipeline/pipeline.h"
#include "simt/ir/ir.h"

#include <llvm-c/Comdat.h>
#include <runnel/cpu_object.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(LLVMValueRef value)
{
    size_t size;
    return LLVMGetValueName2(value, &size);
}

// LLVM-C cannot delete an alias, but what nobody outside sees goes by itself.
void resolve_aliases(LLVMModuleRef module)
{
    for (LLVMValueRef alias = LLVMGetFirstGlobalAlias(module); alias;
         alias = LLVMGetNextGlobalAlias(alias)) {
        LLVMReplaceAllUsesWith(alias, LLVMAliasGetAliasee(alias));
        LLVMSetLinkage(alias, LLVMInternalLinkage);
    }
}

// LLVM takes a millisecond for each other combination of these.
void unify_targets(LLVMModuleRef module)
{
    static const char *const names[] = {"target-cpu", "target-features",
                                        "tune-cpu", "min-legal-vector-width"};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                             names[i],
                                             (unsigned)strlen(names[i]));
        prefer_wide_vectors(f);
    }
}

// --- Variables ---------------------------------------------------------------

void export_variables(LLVMModuleRef module)
{
    // The record is completed after linking, so its initial values must not be
    // folded.
    LLVMValueRef object = LLVMGetNamedGlobal(module, RNL_CPU_OBJECT_SYMBOL);
    if (object)
        LLVMSetExternallyInitialized(object, 1);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && !LLVMIsGlobalConstant(g) &&
            LLVMGetLinkage(g) != LLVMAppendingLinkage) {
            LLVMSetComdat(g, NULL);
            LLVMSetLinkage(g, LLVMExternalLinkage);
            LLVMSetVisibility(g, LLVMHiddenVisibility);
        }
}

static void drop_global(LLVMModuleRef module, const char *name)
{
    LLVMValueRef global = LLVMGetNamedGlobal(module, name);
    if (global)
        LLVMDeleteGlobal(global);
}

void drop_used_list(LLVMModuleRef module)
{
    drop_global(module, "llvm.used");
    drop_global(module, "llvm.compiler.used");
}

// The other module defines variables. A constant may be defined twice, except
// the object's table, since only one table is completed after linking.
void import_variables(LLVMModuleRef module)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g)) {
        if (LLVMIsDeclaration(g))
            continue;
        LLVMSetComdat(g, NULL);
        if (LLVMIsGlobalConstant(g) &&
            strcmp(name_of(g), RNL_CPU_OBJECT_SYMBOL) != 0) {
            LLVMSetLinkage(g, LLVMInternalLinkage);
            LLVMSetVisibility(g, LLVMDefaultVisibility);
        } else {
            LLVMSetInitializer(g, NULL);
            LLVMSetLinkage(g, LLVMExternalLinkage);
        }
    }
}

// --- Functions ---------------------------------------------------------------

static bool is_kernel_thread(LLVMValueRef function, unsigned *number)
{
    char rest;
    return sscanf(name_of(function), "rnl_thread_%u%c", number, &rest) == 1;
}

// Functions that stay calls until vectors have been made.
static bool stays_call(LLVMValueRef function)
{
    static const char *const stems[] = {
        "rnl_thread_", "rnl_block_", "rnl_grid_size_", "rnl_sync", "rnl_warp",
        "rnl_spin", "rnl_yield", "rnl_trap", "rnl_enter", "rnl_scratch",
        "rnl_long_", "rnl_printf", "rnl_dynamic_size", "rnl_rsqrt_near",
        "rnl_seldom_", "rnl_lanes_", "rnl_cluster_"};
    const char *name = name_of(function);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (strncmp(name, stems[i], strlen(stems[i])) == 0)
            return true;
    return strstr(name, "rnl_printf") != NULL;
}

static void set_inlining_of(LLVMValueRef function)
{
    unsigned number;
    remove_flag(function, "optnone");
    if (is_kernel_thread(function, &number)) {
        remove_flag(function, "noinline");
        return;
    }
    // These are called by what is yet to be made.
    bool awaited = strcmp(name_of(function), "rnl_enter") == 0 ||
                   strcmp(name_of(function), "rnl_scratch") == 0 ||
                   lane_function_may_be_called(function);
    LLVMSetComdat(function, NULL);
    LLVMSetLinkage(function, awaited ? LLVMExternalLinkage
                                     : LLVMInternalLinkage);
    LLVMSetVisibility(function, LLVMDefaultVisibility);
    remove_flag(function, stays_call(function) ? "alwaysinline" : "noinline");
    add_flag(function, stays_call(function) ? "noinline" : "alwaysinline");
    if (strcmp(name_of(function), "rnl_rsqrt_near") == 0)
        add_flag(function, "speculatable");  // as roots and divisions are
}

void internalize_functions(LLVMModuleRef module)
{
    static const char *const names[] = {"rnl_enter", "rnl_scratch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        LLVMValueRef function = LLVMGetNamedFunction(module, names[i]);
        if (function && !LLVMIsDeclaration(function))
            LLVMSetLinkage(function, LLVMInternalLinkage);
    }
    lane_functions_hide(module);
}

void set_inlining(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            set_inlining_of(f);
}

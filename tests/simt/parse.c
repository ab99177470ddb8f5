#include "parse.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <string.h>

static const char prelude[] =
    "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-"
    "i128:128-f80:128-n8:16:32:64-S128\"\n"
    "target triple = \"x86_64-unknown-linux-gnu\"\n"
    "declare i32 @rnl_thread_x()\n"
    "declare i32 @rnl_thread_y()\n"
    "declare i32 @rnl_thread_z()\n"
    "declare i32 @rnl_block_x()\n"
    "declare i32 @rnl_block_size_x()\n"
    "declare i32 @rnl_grid_size_x()\n"
    "declare i32 @rnl_sync(i32, i32)\n"
    "declare i64 @rnl_warp(i32, i32, i64, i32, i32)\n"
    "declare void @rnl_spin()\n"
    "declare void @rnl_yield()\n"
    "declare ptr @rnl_scratch(ptr, i64)\n"
    "declare void @rnl_enter(ptr)\n"
    "declare ptr @llvm.threadlocal.address.p0(ptr)\n"
    "@shared = external hidden thread_local global [64 x i32]\n"
    // What the passes know nothing about.
    "declare i1 @ask(i32)\n"
    "declare i32 @number()\n"
    "declare void @use(i32)\n";

// The passes' memory goes with the process.
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

LLVMModuleRef parse_module(const char *text)
{
    char *source = simt_format("%s%s", prelude, text), *message = NULL;
    LLVMModuleRef module;
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        source, strlen(source), "test");
    if (LLVMParseIRInContext(LLVMContextCreate(), buffer, &module, &message))
        fail_msg("%s", message);
    return module;
}

struct kernel *parse_kernel(const char *body)
{
    struct kernel *kernel = simt_allocate(sizeof *kernel);
    LLVMModuleRef module = parse_module(simt_format(
        "define void @rnl_thread_0(ptr %%run) {\n%s\n}\n", body));
    *kernel = (struct kernel){
        .module = module, .context = LLVMGetModuleContext(module),
        .layout = LLVMGetModuleDataLayout(module),
        .function = LLVMGetNamedFunction(module, "rnl_thread_0"),
        .force_vectors = true};
    verify(module);
    kernel_split(kernel);
    char *message = run_passes(module, "function(reg2mem)");
    if (message)
        fail_msg("%s", message);
    kernel_read(kernel);
    return kernel;
}

const char *name_of_block(const struct kernel *kernel, int block)
{
    return LLVMGetBasicBlockName(kernel->blocks[block].ir);
}

bool plan_and_emit(struct kernel *kernel)
{
    kernel_plan(kernel);
    private_layout(kernel, kernel->width);
    if (!kernel->force_vectors)
        kernel_judge(kernel);
    return !kernel->refusal && emit_kernel(kernel);
}

char *code_for(const char *processor, const char *body)
{
    char *message = NULL;
    unify_targets(parse_module(""));
    if (processor && !target_create("x86_64-unknown-linux-gnu", processor,
                                    &message))
        fail_msg("%s", message);
    struct kernel *kernel = parse_kernel(body);
    if (kernel->refusal)
        fail_msg("%s", kernel->refusal);
    if (!plan_and_emit(kernel))
        fail_msg("%s", kernel->refusal);
    verify(kernel->module);
    LLVMDeleteFunction(kernel->function);
    return LLVMPrintModuleToString(kernel->module);
}

int block_named(const struct kernel *kernel, const char *name)
{
    for (int i = 0; i < (int)kernel->block_count; i++)
        if (strcmp(name_of_block(kernel, i), name) == 0)
            return i;
    fail_msg("no block %s", name);
    return NONE;
}

LLVMValueRef value_named(const struct kernel *kernel, const char *name)
{
    size_t size;
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            if (strcmp(LLVMGetValueName2(at, &size), name) == 0)
                return at;
    fail_msg("no value %s", name);
    return NULL;
}

struct slot *slot_named(const struct kernel *kernel, const char *name)
{
    char kept[64];
    size_t size;
    snprintf(kept, sizeof kept, "%s.reg2mem", name);
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        const char *found =
            LLVMGetValueName2(kernel->slots[i].alloca, &size);
        if (strcmp(found, name) == 0 || strcmp(found, kept) == 0)
            return &kernel->slots[i];
    }
    fail_msg("no variable %s", name);
    return NULL;
}

void verify(LLVMModuleRef module)
{
    char *message = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        fail_msg("%s", message);
    LLVMDisposeMessage(message);
}

// Kernels given as LLVM IR, for tests of single passes.
#pragma once

#include "test.h"

#include "simt/pipeline/pipeline.h"

// Parses a module: the declarations of the prelude, and `text`.
LLVMModuleRef parse_module(const char *text);

// Reads the kernel whose one thread has this body; its argument is %run. With a
// refusal if it is refused.
struct kernel *parse_kernel(const char *body);

// Runs the last passes of a kernel. False if the kernel is refused.
bool plan_and_emit(struct kernel *kernel);

// A kernel's vector code, for a processor; NULL: for one without vectors.
char *code_for(const char *processor, const char *body);

// The number of the block that is called so; fails the test if there is none.
int block_named(const struct kernel *kernel, const char *name);
const char *name_of_block(const struct kernel *kernel, int block);

// The instruction that is called so.
LLVMValueRef value_named(const struct kernel *kernel, const char *name);

// The variable that is called so or, after reg2mem, keeps that value.
struct slot *slot_named(const struct kernel *kernel, const char *name);

// Fails the test with LLVM's words when the module is none.
void verify(LLVMModuleRef module);

// What takes time only once in a process, done while there is nothing to
// compile yet: LLVM fills its tables and comes into the caches where a first
// function goes through it. A small one, as this must end before clang does.
#include "ir.h"

#include <llvm-c/IRReader.h>
#include <malloc.h>
#include <stdlib.h>

enum { HEAP_BYTES = 3 << 20 };  // that a small kernel takes

static const char source[] =
    "declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>,"
    " <8 x float>)\n"
    "declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32,"
    " <8 x i1>)\n"
    "define hidden void @rnl_thread_0(ptr %x, i32 %n) {\n"
    "  %at = alloca i32\n"
    "  store i32 0, ptr %at\n"
    "  br label %next\n"
    "next:\n"
    "  %i = load i32, ptr %at\n"
    "  %more = icmp slt i32 %i, %n\n"
    "  br i1 %more, label %inside, label %end\n"
    "inside:\n"
    "  %one = insertelement <8 x i32> poison, i32 %i, i32 0\n"
    "  %all = shufflevector <8 x i32> %one, <8 x i32> poison,"
    " <8 x i32> zeroinitializer\n"
    "  %mask = icmp slt <8 x i32> %all, <i32 0, i32 1, i32 2, i32 3, i32 4,"
    " i32 5, i32 6, i32 7>\n"
    "  %l = sext i32 %i to i64\n"
    "  %p = getelementptr float, ptr %x, i64 %l\n"
    "  %v = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %p, i32 4,"
    " <8 x i1> %mask, <8 x float> zeroinitializer)\n"
    "  %w = fmul contract <8 x float> %v, %v\n"
    "  %u = fadd contract <8 x float> %w, %v\n"
    "  call void @llvm.masked.store.v8f32.p0(<8 x float> %u, ptr %p, i32 4,"
    " <8 x i1> %mask)\n"
    "  %j = add i32 %i, 8\n"
    "  store i32 %j, ptr %at\n"
    "  br label %next\n"
    "end:\n"
    "  ret void\n"
    "}\n";

static LLVMModuleRef read_source(const char *triple,
                                 LLVMTargetMachineRef machine)
{
    char *message = NULL;
    LLVMModuleRef module = NULL;
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRange(
        source, sizeof source - 1, "warm", 1);
    if (LLVMParseIRInContext(LLVMContextCreate(), text, &module, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(module, triple);
    return module;
}

// Gives the heap memory that it keeps.
static void fill_heap(void)
{
    mallopt(M_TRIM_THRESHOLD, 8 * HEAP_BYTES);
    mallopt(M_MMAP_THRESHOLD, 2 * HEAP_BYTES);
    char *memory = malloc(HEAP_BYTES);
    for (size_t i = 0; memory && i < HEAP_BYTES; i += 4096)
        ((volatile char *)memory)[i] = 0;
    free(memory);
}

bool warm_up(const char *target)
{
    char *message = NULL, *triple = LLVMGetDefaultTargetTriple();
    LLVMMemoryBufferRef object = NULL;
    LLVMTargetMachineRef machine = target_create(triple, target, &message);
    LLVMModuleRef module = machine ? read_source(triple, machine) : NULL;
    if (module && !prepare_module(module))
        LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile,
                                            &message, &object);
    LLVMDisposeMessage(triple);
    fill_heap();
    return object != NULL;
}

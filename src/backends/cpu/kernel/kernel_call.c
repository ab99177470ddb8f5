#include "backends/cpu/kernel/block_threads.h"
#include "backends/cpu/kernel/fiber.h"

// kernel_enter(kernel, block, count, kept) keeps the registers that a call must
// preserve in kept[], and puts a sentinel between the frames of the kernel and
// of its caller. When the kernel returns, no register and no word of the stack
// is trusted: kernel_kept() finds kept[] again. Result: whether sentinel and
// return address are intact.
#define SENTINEL 0x9c4e17d3a5f0826b
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

// Both architectures begin kept[] with these.
enum { KEPT_RETURN, KEPT_STACK };

#if defined(__x86_64__) || defined(__aarch64__)
static uint64_t sentinel_of(const uint64_t *kept)
{
    return SENTINEL ^ (uint64_t)(uintptr_t)kept;
}
#endif

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden kernel_enter\n"
        ".globl kernel_enter\n"
        ".type kernel_enter, @function\n"
        "kernel_enter:\n"
        "    .cfi_startproc\n"
        "    movq (%rsp), %rax\n"
        "    movq %rax, (%rcx)\n"
        "    movq %rsp, 8(%rcx)\n"
        "    movq %rbx, 16(%rcx)\n"
        "    movq %rbp, 24(%rcx)\n"
        "    movq %r12, 32(%rcx)\n"
        "    movq %r13, 40(%rcx)\n"
        "    movq %r14, 48(%rcx)\n"
        "    movq %r15, 56(%rcx)\n"
        "    movabsq $" TEXT(SENTINEL) ", %rax\n"
        "    xorq %rcx, %rax\n"
        "    pushq %rax\n"
        "    .cfi_def_cfa_offset 16\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    callq *%rax\n"
        ".hidden kernel_is_back\n"
        ".globl kernel_is_back\n"
        "kernel_is_back:\n"
        "    andq $-16, %rsp\n"
        "    callq kernel_kept\n"
        "    movq 8(%rax), %rsp\n"
        "    .cfi_def_cfa_offset 8\n"
        "    movq 16(%rax), %rbx\n"
        "    movq 24(%rax), %rbp\n"
        "    movq 32(%rax), %r12\n"
        "    movq 40(%rax), %r13\n"
        "    movq 48(%rax), %r14\n"
        "    movq 56(%rax), %r15\n"
        "    movabsq $" TEXT(SENTINEL) ", %rdx\n"
        "    xorq %rax, %rdx\n"
        "    xorq -8(%rsp), %rdx\n"
        "    movq (%rax), %rcx\n"
        "    movq (%rsp), %rsi\n"
        "    xorq %rcx, %rsi\n"
        "    movq %rcx, (%rsp)\n"
        "    xorl %eax, %eax\n"
        "    orq %rsi, %rdx\n"
        "    sete %al\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size kernel_enter, .-kernel_enter\n");

extern const char kernel_is_back[] __attribute__((visibility("hidden")));

static bool are_intact(const uint64_t *above, const uint64_t *kept)
{
    return above[0] == (uint64_t)(uintptr_t)kernel_is_back &&
           above[1] == sentinel_of(kept) && above[2] == kept[KEPT_RETURN];
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden kernel_enter\n"
        ".globl kernel_enter\n"
        ".type kernel_enter, %function\n"
        "kernel_enter:\n"
        "    mov x9, sp\n"
        "    stp x30, x9, [x3, #0]\n"
        "    stp x19, x20, [x3, #16]\n"
        "    stp x21, x22, [x3, #32]\n"
        "    stp x23, x24, [x3, #48]\n"
        "    stp x25, x26, [x3, #64]\n"
        "    stp x27, x28, [x3, #80]\n"
        "    str x29, [x3, #96]\n"
        "    stp d8, d9, [x3, #104]\n"
        "    stp d10, d11, [x3, #120]\n"
        "    stp d12, d13, [x3, #136]\n"
        "    stp d14, d15, [x3, #152]\n"
        "    ldr x9, =" TEXT(SENTINEL) "\n"
        "    eor x9, x9, x3\n"
        "    stp x9, x30, [sp, #-16]!\n"
        "    mov x9, x0\n"
        "    mov x0, x1\n"
        "    mov x1, x2\n"
        "    blr x9\n"
        "    bl kernel_kept\n"
        "    ldp x30, x9, [x0, #0]\n"
        "    mov sp, x9\n"
        "    ldp x19, x20, [x0, #16]\n"
        "    ldp x21, x22, [x0, #32]\n"
        "    ldp x23, x24, [x0, #48]\n"
        "    ldp x25, x26, [x0, #64]\n"
        "    ldp x27, x28, [x0, #80]\n"
        "    ldr x29, [x0, #96]\n"
        "    ldp d8, d9, [x0, #104]\n"
        "    ldp d10, d11, [x0, #120]\n"
        "    ldp d12, d13, [x0, #136]\n"
        "    ldp d14, d15, [x0, #152]\n"
        "    ldp x10, x11, [sp, #-16]\n"
        "    ldr x9, =" TEXT(SENTINEL) "\n"
        "    eor x9, x9, x0\n"
        "    eor x10, x10, x9\n"
        "    eor x11, x11, x30\n"
        "    orr x10, x10, x11\n"
        "    cmp x10, #0\n"
        "    cset w0, eq\n"
        "    ret\n"
        "    .ltorg\n"
        ".size kernel_enter, .-kernel_enter\n");

static bool are_intact(const uint64_t *above, const uint64_t *kept)
{
    return above[0] == sentinel_of(kept) && above[1] == kept[KEPT_RETURN];
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
uint64_t *kernel_kept(void) __attribute__((used, visibility("hidden")));

// For kernel_enter: a kernel may have overwritten all that it had itself.
uint64_t *kernel_kept(void)
{
    return runner_here()->current->kept;
}

int kernel_enter(kernel_function *kernel, rnl_cpu_block *block, uint64_t count,
                 uint64_t *kept);

bool kernel_call(struct fiber *fiber, kernel_function *kernel,
                 rnl_cpu_block *block, uint64_t count)
{
    return kernel_enter(kernel, block, count, fiber->kept);
}

bool kernel_call_is_intact(const struct fiber *fiber)
{
    const uint64_t *kept = fiber->kept;
    if (kept[KEPT_STACK] == 0)
        return true;
    return are_intact((const uint64_t *)(uintptr_t)kept[KEPT_STACK] - 2, kept);
}
#else
bool kernel_call(struct fiber *fiber, kernel_function *kernel,
                 rnl_cpu_block *block, uint64_t count)
{
    (void)fiber;
    ((void (*)(rnl_cpu_block *, uint64_t))kernel)(block, count);
    return true;
}

bool kernel_call_is_intact(const struct fiber *fiber)
{
    (void)fiber;
    return true;
}
#endif

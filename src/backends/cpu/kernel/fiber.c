#include "backends/cpu/kernel/fiber.h"

#include "backends/cpu/kernel/guarded.h"
#include "backends/cpu/kernel/tuning.h"
#include "base/thread.h"

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

// --- Sanitizers ------------------------------------------------------------

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#endif

#if defined(HAS_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(HAS_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

// Before the switch away from `from`. Inlined, because the thread sanitizer
// counts calls and returns by stack.
static inline __attribute__((always_inline)) void
announce_switch(struct fiber *from, struct fiber *to)
{
#if defined(HAS_ASAN)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->low, to->size);
#endif
#if defined(HAS_TSAN)
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    (void)from, (void)to;
}

#if defined(HAS_ASAN)
// An OS thread's stack is known only once it has been left.
static _Thread_local struct fiber *switched_from;
#endif

// First thing after a switch, on the new stack.
static void finish_switch(struct fiber *self)
{
#if defined(HAS_ASAN)
    const void *low;
    size_t size;
    __sanitizer_finish_switch_fiber(self->fake_stack, &low, &size);
    if (switched_from && !switched_from->stack) {
        switched_from->low = (char *)(uintptr_t)low;
        switched_from->size = size;
    }
#endif
    (void)self;
}

// --- Switching -------------------------------------------------------------

#if defined(__x86_64__)
// fiber_swap(&saved, wanted): saves the callee-saved registers. The floating
// point control words are left alone: kernels do not change them. fiber_resume
// is the second half, for a stack pointer that is set already.
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden fiber_swap\n"
        ".globl fiber_swap\n"
        ".type fiber_swap, @function\n"
        "fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        ".hidden fiber_resume\n"
        ".globl fiber_resume\n"
        "fiber_resume:\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_swap, .-fiber_swap\n"
        ".hidden fiber_begin\n"
        ".globl fiber_begin\n"
        ".type fiber_begin, @function\n"
        "fiber_begin:\n"
        "    movq %r12, %rdi\n"
        "    xorl %ebp, %ebp\n"
        "    callq *%rbx\n"
        "    ud2\n"
        ".size fiber_begin, .-fiber_begin\n");

enum { SAVED_R12 = 3, SAVED_RBX = 4, SAVED_RETURN = 6, SAVED_WORDS = 7 };

static void fill_stack(uint64_t *words, void (*entry)(void *), void *argument,
                       void (*begin)(void))
{
    words[SAVED_R12] = (uint64_t)(uintptr_t)argument;
    words[SAVED_RBX] = (uint64_t)(uintptr_t)entry;
    words[SAVED_RETURN] = (uint64_t)(uintptr_t)begin;
}
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden fiber_swap\n"
        ".globl fiber_swap\n"
        ".type fiber_swap, %function\n"
        "fiber_swap:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        ".hidden fiber_resume\n"
        ".globl fiber_resume\n"
        "fiber_resume:\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size fiber_swap, .-fiber_swap\n"
        ".hidden fiber_begin\n"
        ".globl fiber_begin\n"
        ".type fiber_begin, %function\n"
        "fiber_begin:\n"
        "    mov x0, x20\n"
        "    mov x29, xzr\n"
        "    blr x19\n"
        "    brk #1\n"
        ".size fiber_begin, .-fiber_begin\n");

enum { SAVED_X19 = 0, SAVED_X20 = 1, SAVED_X30 = 11, SAVED_WORDS = 20 };

static void fill_stack(uint64_t *words, void (*entry)(void *), void *argument,
                       void (*begin)(void))
{
    words[SAVED_X19] = (uint64_t)(uintptr_t)entry;
    words[SAVED_X20] = (uint64_t)(uintptr_t)argument;
    words[SAVED_X30] = (uint64_t)(uintptr_t)begin;
}
#endif

static void begin_fiber(void *argument)
{
    struct fiber *fiber = argument;
    finish_switch(fiber);
    fiber->run(fiber->argument);
}

#if defined(__x86_64__) || defined(__aarch64__)
void fiber_swap(void **saved, void *wanted);
void fiber_begin(void);

static void prepare(struct fiber *fiber)
{
    uintptr_t top = (uintptr_t)(fiber->low + fiber->size);
    uint64_t *words = (uint64_t *)(top & ~(uintptr_t)15) - SAVED_WORDS;
    memset(words, 0, SAVED_WORDS * sizeof *words);
    fill_stack(words, begin_fiber, fiber, fiber_begin);
    fiber->stack_pointer = words;
}

static void swap(struct fiber *from, struct fiber *to)
{
    fiber_swap(&from->stack_pointer, to->stack_pointer);
}
#else
static _Thread_local struct fiber *starting;

static void begin_context(void)
{
    begin_fiber(starting);
}

static void prepare(struct fiber *fiber)
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->low;
    fiber->context.uc_stack.ss_size = fiber->size;
    makecontext(&fiber->context, begin_context, 0);
    fiber->stack_pointer = NULL;
}

// A context lies on the stack of the fiber that was left, or in its record.
static void swap(struct fiber *from, struct fiber *to)
{
    ucontext_t here;
    from->stack_pointer = &here;
    if (!to->stack_pointer)
        starting = to;
    swapcontext(&here, to->stack_pointer ? to->stack_pointer : &to->context);
}
#endif

void fiber_switch(struct fiber *from, struct fiber *to)
{
    announce_switch(from, to);
#if defined(HAS_ASAN)
    switched_from = from;
#endif
    swap(from, to);
    finish_switch(from);
}

// --- Signals ---------------------------------------------------------------

#if defined(__x86_64__)
void fiber_resume(void);

void fiber_abandon(struct fiber *from, struct fiber *to, void *context)
{
    enum { DIRECTION_FLAG = 0x400 };
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    (void)from;
    machine->gregs[REG_RSP] = (greg_t)(uintptr_t)to->stack_pointer;
    machine->gregs[REG_RIP] = (greg_t)(uintptr_t)fiber_resume;
    machine->gregs[REG_EFL] &= ~(greg_t)DIRECTION_FLAG;
    // Calls expect the x87 registers to be empty.
    if (machine->fpregs)
        machine->fpregs->swd = machine->fpregs->ftw = 0;
}

uintptr_t fiber_context_stack(const void *context)
{
    const ucontext_t *interrupted = context;
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP];
}

uintptr_t fiber_context_instruction(const void *context)
{
    const ucontext_t *interrupted = context;
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
}
#elif defined(__aarch64__)
void fiber_resume(void);

void fiber_abandon(struct fiber *from, struct fiber *to, void *context)
{
    enum { BRANCH_TYPE = 0xc00 };
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    (void)from;
    machine->sp = (uintptr_t)to->stack_pointer;
    machine->pc = (uintptr_t)fiber_resume;
    machine->pstate &= ~(uint64_t)BRANCH_TYPE;
}

uintptr_t fiber_context_stack(const void *context)
{
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.sp;
}

uintptr_t fiber_context_instruction(const void *context)
{
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
}
#else
// The context that is switched to has its own signal mask.
void fiber_abandon(struct fiber *from, struct fiber *to, void *context)
{
    (void)context;
    fiber_switch(from, to);
}

uintptr_t fiber_context_stack(const void *context)
{
    (void)context;
    return 0;
}

uintptr_t fiber_context_instruction(const void *context)
{
    (void)context;
    return 0;
}
#endif

// --- Records ---------------------------------------------------------------

// Records of fibers lie together: a page of its own for each would cost memory,
// and an entry of the TLB at each switch.
enum { PAGE_SIZE = 16 << 10 };

struct fiber_page {
    struct fiber_page *next;  // of those with room
    struct fiber *free;
    unsigned used, cut;       // those cut off have been used once
    struct fiber fibers[];
};

enum {
    FIBERS_PER_PAGE = (PAGE_SIZE - sizeof(struct fiber_page)) /
                      sizeof(struct fiber)
};

// Guards the pages.
static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fiber_page *pages;

static bool is_full_locked(const struct fiber_page *page)
{
    ASSERT(pthread_mutex_trylock(&pages_lock) != 0);
    return page->used == FIBERS_PER_PAGE;
}

static struct fiber *take_record_locked(void)
{
    ASSERT(pthread_mutex_trylock(&pages_lock) != 0);
    struct fiber_page *page = pages;
    if (!page && !(page = pages = guarded_map(PAGE_SIZE, false)))
        return NULL;
    struct fiber *fiber = page->free;
    if (fiber)
        page->free = fiber->next;
    else
        fiber = &page->fibers[page->cut++];
    page->used++;
    if (is_full_locked(page))
        pages = page->next;
    *fiber = (struct fiber){.page = page};
    return fiber;
}

static void give_record_locked(struct fiber *fiber)
{
    ASSERT(pthread_mutex_trylock(&pages_lock) != 0);
    struct fiber_page *page = fiber->page, **link = &pages;
    if (is_full_locked(page)) {
        page->next = pages;
        pages = page;
    }
    fiber->next = page->free;
    page->free = fiber;
    if (--page->used > 0)
        return;
    while (*link != page)
        link = &(*link)->next;
    *link = page->next;
    guarded_unmap(page, PAGE_SIZE);
}

static struct fiber *take_record(void)
{
    pthread_mutex_lock(&pages_lock);
    struct fiber *fiber = take_record_locked();
    pthread_mutex_unlock(&pages_lock);
    return fiber;
}

static void give_record(struct fiber *fiber)
{
    pthread_mutex_lock(&pages_lock);
    give_record_locked(fiber);
    pthread_mutex_unlock(&pages_lock);
}

// A fork waits for whoever changes the pages, which the child has, too.
static _Thread_local bool forks;  // the hooks may be called twice

static void before_fork(void)
{
    if (!forks)
        pthread_mutex_lock(&pages_lock);
    forks = true;
}

static void in_parent(void)
{
    if (forks)
        pthread_mutex_unlock(&pages_lock);
    forks = false;
}

static void in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    pages_lock = fresh;
    forks = false;
}

// False when memory is short.
static bool notice_forks(void)
{
    static atomic_bool noticed;
    static const struct fork_hooks hooks = {before_fork, in_parent,
                                            in_child};
    return thread_notice_forks(&noticed, &hooks);
}

// --- Stacks ----------------------------------------------------------------

// Stacks lie at regular distances, so the hot ends of many stacks would share a
// few sets of the first-level cache; they start at different offsets in their
// page.

// Shared by the offset and the stack.
enum { MAPPING_SIZE = FIBER_STACK_SIZE + COLOUR_SIZE * COLOUR_COUNT };

static atomic_uint next_colour;

struct fiber *fiber_create(void (*run)(void *), void *argument)
{
    struct fiber *fiber = notice_forks() ? take_record() : NULL;
    char *stack = fiber ? guarded_map(MAPPING_SIZE, true) : NULL;
    if (!stack) {
        if (fiber)
            give_record(fiber);
        return NULL;
    }
    unsigned colour = atomic_fetch_add(&next_colour, 1) % COLOUR_COUNT;
    size_t above = colour * (size_t)COLOUR_SIZE;
    fiber->low = fiber->stack = stack;
    fiber->size = MAPPING_SIZE - above;
#if defined(HAS_TSAN)
    fiber->tsan = __tsan_create_fiber(0);
#endif
    fiber->run = run;
    fiber->argument = argument;
    prepare(fiber);
    return fiber;
}

void fiber_reset(struct fiber *fiber, void (*run)(void *), void *argument)
{
#if defined(HAS_ASAN)
    __asan_unpoison_memory_region(fiber->low, fiber->size);
    fiber->fake_stack = NULL;
#endif
#if defined(HAS_TSAN)
    __tsan_destroy_fiber(fiber->tsan);
    fiber->tsan = __tsan_create_fiber(0);
#endif
    fiber->run = run;
    fiber->argument = argument;
    prepare(fiber);
}

void fiber_destroy(struct fiber *fiber)
{
#if defined(HAS_ASAN)
    __asan_unpoison_memory_region(fiber->low, fiber->size);
#endif
#if defined(HAS_TSAN)
    __tsan_destroy_fiber(fiber->tsan);
#endif
    guarded_unmap(fiber->stack, MAPPING_SIZE);
    give_record(fiber);
}

size_t fiber_held(void)
{
    return guarded_extent(MAPPING_SIZE);
}

enum guard_side fiber_guard(const struct fiber *fiber, uintptr_t address)
{
    return guarded_side(fiber->stack, MAPPING_SIZE, address);
}

void fiber_init_native(struct fiber *fiber)
{
    *fiber = (struct fiber){0};
#if defined(HAS_TSAN)
    fiber->tsan = __tsan_get_current_fiber();
#endif
}

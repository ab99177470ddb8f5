#include "backends/cpu/kernel/fault.h"

#include "backends/cpu/kernel/block_threads.h"
#include "backends/cpu/kernel/fiber.h"
#include "backends/cpu/kernel/guarded.h"
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/kernel/tuning.h"
#include "core/object/config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED)
#define SANITIZED 0
#endif

#if !defined(AT_MINSIGSTKSZ)
#define AT_MINSIGSTKSZ 51
#endif

// A handler that was there before may need more than ours does.
enum { STACK_SIZE = 64 << 10, STACK_LEAST = 8 << 10 };

static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
enum { NUMBER_COUNT = sizeof numbers / sizeof *numbers };

static struct sigaction former[NUMBER_COUNT];
static bool installed;

// --- What is not a kernel's ------------------------------------------------

void fault_call_former(const struct sigaction *action, int number,
                        siginfo_t *info, void *context)
{
    // Returning from our handler gives the thread its own mask again.
    pthread_sigmask(SIG_BLOCK, &action->sa_mask, NULL);
    if (action->sa_flags & SA_NODEFER) {
        sigset_t self;
        sigemptyset(&self);
        sigaddset(&self, number);
        pthread_sigmask(SIG_UNBLOCK, &self, NULL);
    }
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, context);
    else
        action->sa_handler(number);
}

// Emulates the default action. A fault recurs as soon as the handler returns;
// further signals, and a trap, must be raised again.
static void act_by_default(int number, const siginfo_t *info)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(number, &action, NULL);
    if (info->si_code <= 0 || number == SIGTRAP)
        raise(number);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    int i = 0;
    while (numbers[i] != number)
        i++;
    struct sigaction action = former[i];
    if (action.sa_handler == SIG_IGN && info->si_code <= 0)
        return;
    if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL) {
        act_by_default(number, info);
        return;
    }
    if (action.sa_flags & SA_RESETHAND)
        former[i].sa_handler = SIG_DFL;
    fault_call_former(&action, number, info, context);
}

// --- What is ---------------------------------------------------------------

static enum fault_access access_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    enum { PAGE_FAULT = 14, BY_WRITE = 2, BY_FETCH = 16 };
    const greg_t *registers = context->uc_mcontext.gregs;
    if (registers[REG_TRAPNO] != PAGE_FAULT)
        return FAULT_ACCESS;
    if (registers[REG_ERR] & BY_FETCH)
        return FAULT_EXECUTE;
    return registers[REG_ERR] & BY_WRITE ? FAULT_WRITE : FAULT_READ;
#else
    (void)context;
    return FAULT_ACCESS;
#endif
}

// A handler of the program's may have interrupted the kernel and failed itself.
static bool was_on_signal_stack(const ucontext_t *context)
{
    stack_t stack;
    if (sigaltstack(NULL, &stack) != 0 || stack.ss_flags & SS_DISABLE)
        return false;
    return fiber_context_stack(context) - (uintptr_t)stack.ss_sp <
           stack.ss_size;
}

// Codes above 0 are the processor's doing, others were sent by somebody.
static bool is_of_kernel(const struct runner *runner, const siginfo_t *info,
                         const ucontext_t *context)
{
    return runner && runner->inside && info->si_code > 0 &&
           !was_on_signal_stack(context);
}

void fault_leave(struct runner *runner, rnl_status status, void *context)
{
    runner->inside = false;
    runner->status = status;
    runner->current->busy = true;  // it ends in the middle
    fiber_abandon(runner->current, &runner->native, context);
}

static void handle(int number, siginfo_t *info, void *context)
{
    int error = errno;
    struct runner *runner = runner_here();
    if (is_of_kernel(runner, info, context)) {
        runner->fault = (struct fault){
            number, info->si_code, (uintptr_t)info->si_addr,
            access_of(context), fiber_context_instruction(context),
            fiber_context_stack(context)};
        fault_leave(runner, RNL_ERROR_LAUNCH_FAILED, context);
    } else {
        pass_on(number, info, context);
    }
    errno = error;
}

const char *fault_unsupported_reason(void)
{
    if (SANITIZED)
        return "the library was built with a sanitizer, which handles signals "
               "itself";
    return config_get()->contain ? "" : "RUNNEL_CONTAIN=0 forbids handlers of "
                                        "signals";
}

static void install(void)
{
    if (fault_unsupported_reason()[0])
        return;
    for (int i = 0; i < NUMBER_COUNT; i++) {
        // Read first: a fault may come before the second call returns.
        if (sigaction(numbers[i], NULL, &former[i]) != 0)
            continue;
        struct sigaction action = {.sa_sigaction = handle};
        action.sa_flags = SA_SIGINFO | SA_ONSTACK |
                          (former[i].sa_flags & SA_RESTART);
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], &action, NULL);
    }
    installed = true;
}

void fault_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

// --- The stack of the handlers ---------------------------------------------

void fault_thread_begin(struct runner *runner)
{
    stack_t *own = &runner->signal_stack, *old = &runner->former_stack;
    if (!installed || sigaltstack(NULL, old) != 0)
        return;
    if (!(old->ss_flags & SS_DISABLE) && old->ss_size >= STACK_LEAST)
        return;
    size_t size = STACK_SIZE + (size_t)getauxval(AT_MINSIGSTKSZ);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return;
    *own = (stack_t){.ss_sp = memory, .ss_size = size};
    if (sigaltstack(own, NULL) != 0) {
        munmap(memory, size);
        *own = (stack_t){0};
    }
}

void fault_thread_end(struct runner *runner)
{
    stack_t *own = &runner->signal_stack, now;
    if (!own->ss_sp || sigaltstack(NULL, &now) != 0)
        return;
    if (now.ss_flags & SS_ONSTACK)
        return;  // still in use: better lost than gone
    if (now.ss_sp == own->ss_sp && !(now.ss_flags & SS_DISABLE))
        sigaltstack(&runner->former_stack, NULL);
    munmap(own->ss_sp, own->ss_size);
}

// --- The text --------------------------------------------------------------

const char fault_overwritten[] =
    "the stack was overwritten: a store past the end of a local array reached "
    "what the kernel returns to";

// The guard that an address lies in, among the stacks of the thread.
static enum guard_side stack_guard(const struct runner *runner,
                                   uintptr_t address)
{
    enum guard_side side = GUARD_NONE;
    for (const struct fiber *fiber = runner->made; fiber && side == GUARD_NONE;
         fiber = fiber->next_made)
        side = fiber_guard(fiber, address);
    return side;
}

// A call or a large frame touches the guard with the stack pointer close by; an
// overrun downwards does so from above.
static bool is_stack_full(const struct fault *fault, enum guard_side side)
{
    return side == GUARD_BELOW &&
           (fault->stack == 0 || fault->stack < fault->address ||
            fault->stack - fault->address < NEAR_GUARD);
}

// The kernel memory whose guard pages were hit; NULL for none.
static const char *overrun_at(const struct runner *runner, uintptr_t address)
{
    const struct grid *grid = runner->grid;
    if (stack_guard(runner, address) != GUARD_NONE)
        return "beside the stack of a thread: a local array was overrun";
    if (guarded_side(runner->scratch, runner->scratch_size, address) !=
        GUARD_NONE)
        return "beside the stacks of the threads: a local array was overrun";
    if (grid ? guarded_side(grid->memory, grid->memory_size, address)
             : guarded_side(runner->memory, runner->memory_size, address))
        return "beside the shared memory of a block: a __shared__ array was "
               "overrun";
    return NULL;
}

static const char *reason_of(const struct runner *runner)
{
    const struct fault *fault = &runner->fault;
    const char *overrun = overrun_at(runner, fault->address);
    if (overrun)
        return overrun;
    if (fault->access == FAULT_EXECUTE || fault->address == fault->instruction)
        return "which holds no code: a function pointer is wrong, or a return "
               "address on the stack was overwritten";
    if (fault->number == SIGBUS)
        return fault->code == BUS_ADRALN ? "which is not aligned"
                                         : "which has no memory behind it";
    return fault->code == SEGV_ACCERR ? "which does not allow that"
                                      : "which is not mapped";
}

static void describe_access(const struct runner *runner, char *text,
                            size_t size)
{
    static const char *const words[] = {"read or write", "read", "write",
                                        "execution"};
    const struct fault *fault = &runner->fault;
    if (is_stack_full(fault, stack_guard(runner, fault->address)))
        snprintf(text, size, "stack overflow: a thread has %zu KiB",
                 FIBER_STACK_SIZE >> 10);
    else
        snprintf(text, size, "%s of address 0x%" PRIxPTR ", %s",
                 words[fault->access], fault->address, reason_of(runner));
}

// Whether the processor was about to return from a function.
static bool returns(const struct fault *fault)
{
#if defined(__x86_64__)
    enum { RETURN = 0xc3 };
    return *(const unsigned char *)fault->instruction == RETURN;
#else
    (void)fault;
    return false;
#endif
}

// The processor does not give the address.
static const char *nowhere(const struct fault *fault)
{
    if (returns(fault))
        return "return to an address that does not exist: the stack was "
               "overwritten";
    return "access of an address that does not exist, as of a pointer that was "
           "overwritten on the stack, or of a vector that is not aligned";
}

static const char *arithmetic(int code)
{
    if (code == FPE_INTDIV)
        return "integer division by zero, or with a quotient that is too large";
    if (code == FPE_INTOVF)
        return "integer overflow";
    return "floating point exception, which the program made a trap";
}

static void describe(const struct runner *runner, char *text, size_t size)
{
    const struct fault *fault = &runner->fault;
    bool of_memory = fault->number == SIGSEGV && fault->code != SI_KERNEL;
    if (stop_is_fault(fault->number))
        stop_describe(runner, text, size);
    else if (!kernel_call_is_intact(runner->current) &&
        !(of_memory && overrun_at(runner, fault->address)))
        snprintf(text, size, "%s", fault_overwritten);
    else if (fault->number == SIGFPE)
        snprintf(text, size, "%s", arithmetic(fault->code));
    else if (fault->number == SIGILL || fault->number == SIGTRAP)
        snprintf(text, size,
                 "illegal instruction at 0x%" PRIxPTR ": __builtin_trap, or a "
                 "place that is never reached", fault->address);
    else if (fault->code == SI_KERNEL)
        snprintf(text, size, "%s", nowhere(fault));
    else
        describe_access(runner, text, size);
}

// The thread that ran, where its object tells.
static uint32_t thread_of(const struct runner *runner)
{
    const rnl_cpu_object *object = runner->run->object;
    const uint32_t *block = runner->block.block;
    uint32_t index[3];
    if (!(object->flags & RNL_CPU_OBJECT_TELLS) ||
        object->thread_offset + sizeof index > object->memory_size)
        return RUNNER_NO_THREAD;
    memcpy(index, runner->memory_here + object->thread_offset, sizeof index);
    for (int axis = 0; axis < 3; axis++)
        if (index[axis] >= block[axis])
            return RUNNER_NO_THREAD;
    return index[0] + block[0] * (index[1] + block[1] * index[2]);
}

void fault_report(struct runner *runner)
{
    char text[256];
    uint32_t thread = thread_of(runner);
    if (runner->fault.number == 0)
        return;
    describe(runner, text, sizeof text);
    size_t length = strlen(text);
    if (thread == RUNNER_NO_THREAD && runner->block.thread_count > 1)
        snprintf(text + length, sizeof text - length,
                 "; compiled with -G it tells the thread");
    runner_write_failure(runner, thread, text);
    runner->fault.number = 0;
}

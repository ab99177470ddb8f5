#include "fault.h"

#include "core/config.h"
#include "worker.h"

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

static void call_former(const struct sigaction *action, int number,
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

// What the system does when there is no handler. A fault happens again as soon
// as the handler returns; other signals, and a trap, have to be sent again.
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
    call_former(&action, number, info, context);
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
static bool is_of_kernel(const struct worker *worker, const siginfo_t *info,
                         const ucontext_t *context)
{
    return worker && worker->inside && info->si_code > 0 &&
           !was_on_signal_stack(context);
}

static void handle(int number, siginfo_t *info, void *context)
{
    int error = errno;
    struct worker *worker = worker_here();
    if (is_of_kernel(worker, info, context)) {
        worker->inside = false;
        worker->fault = (struct fault){
            number, info->si_code, (uintptr_t)info->si_addr,
            access_of(context)};
        worker->status = RNL_ERROR_LAUNCH_FAILED;
        worker->current->busy = true;  // it ends in the middle
        fiber_abandon(worker->current, &worker->native, context);
    } else {
        pass_on(number, info, context);
    }
    errno = error;
}

static void install(void)
{
    if (SANITIZED || !config_get()->contain)
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

void fault_thread_begin(struct worker *worker)
{
    stack_t *own = &worker->signal_stack, *old = &worker->former_stack;
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

void fault_thread_end(struct worker *worker)
{
    stack_t *own = &worker->signal_stack, now;
    if (!own->ss_sp || sigaltstack(NULL, &now) != 0)
        return;
    if (now.ss_flags & SS_ONSTACK)
        return;  // still in use: better lost than gone
    if (now.ss_sp == own->ss_sp && !(now.ss_flags & SS_DISABLE))
        sigaltstack(&worker->former_stack, NULL);
    munmap(own->ss_sp, own->ss_size);
}

// --- The text --------------------------------------------------------------

static bool is_stack_full(const struct worker *worker)
{
    const struct fiber *fiber = worker->made;
    while (fiber && !fiber_is_guard(fiber, worker->fault.address))
        fiber = fiber->next_made;
    return fiber != NULL;
}

static void describe_access(const struct worker *worker, char *text,
                            size_t size)
{
    static const char *const words[] = {"read or write", "read", "write",
                                        "execution"};
    const struct fault *fault = &worker->fault;
    const char *why = "which is not mapped";
    if (is_stack_full(worker)) {
        snprintf(text, size, "stack overflow: a thread has %zu KiB",
                 FIBER_STACK_SIZE >> 10);
        return;
    }
    if (fault->number == SIGSEGV && fault->code == SEGV_ACCERR)
        why = "which does not allow that";
    else if (fault->number == SIGBUS)
        why = fault->code == BUS_ADRALN ? "which is not aligned"
                                        : "which has no memory behind it";
    snprintf(text, size, "%s of address 0x%" PRIxPTR ", %s",
             words[fault->access], fault->address, why);
}

static const char *arithmetic(int code)
{
    if (code == FPE_INTDIV)
        return "integer division by zero, or with a quotient that is too large";
    if (code == FPE_INTOVF)
        return "integer overflow";
    return "floating point exception, which the program made a trap";
}

static void describe(const struct worker *worker, char *text, size_t size)
{
    const struct fault *fault = &worker->fault;
    if (fault->number == SIGFPE)
        snprintf(text, size, "%s", arithmetic(fault->code));
    else if (fault->number == SIGILL || fault->number == SIGTRAP)
        snprintf(text, size,
                 "illegal instruction at 0x%" PRIxPTR ": __builtin_trap, or a "
                 "place that is never reached", fault->address);
    else if (fault->code == SI_KERNEL)
        // The processor does not give the address.
        snprintf(text, size,
                 "access of an address that does not exist, or of a vector "
                 "that is not aligned");
    else
        describe_access(worker, text, size);
}

// The thread that ran, where its object tells.
static uint32_t thread_of(const struct worker *worker)
{
    const rnl_cpu_object *object = worker->run->object;
    const uint32_t *block = worker->block.block;
    uint32_t index[3];
    if (!(object->flags & RNL_CPU_OBJECT_TELLS) ||
        object->thread_offset + sizeof index > object->memory_size)
        return WORKER_NO_THREAD;
    memcpy(index, worker->memory_here + object->thread_offset, sizeof index);
    for (int axis = 0; axis < 3; axis++)
        if (index[axis] >= block[axis])
            return WORKER_NO_THREAD;
    return index[0] + block[0] * (index[1] + block[1] * index[2]);
}

void fault_report(struct worker *worker)
{
    char text[192];
    uint32_t thread = thread_of(worker);
    if (worker->fault.number == 0)
        return;
    describe(worker, text, sizeof text);
    size_t length = strlen(text);
    if (thread == WORKER_NO_THREAD && worker->block.thread_count > 1)
        snprintf(text + length, sizeof text - length,
                 "; compiled with -G it tells the thread");
    worker_write_failure(worker, thread, text);
    worker->fault.number = 0;
}

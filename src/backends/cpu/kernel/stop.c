#include "backends/cpu/kernel/stop.h"

#include "backends/cpu/kernel/block_threads.h"
#include "backends/cpu/kernel/fault.h"
#include "backends/cpu/kernel/fiber.h"
#include "backends/cpu/kernel/tuning.h"
#include "base/clock.h"
#include "base/fail.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIGNAL = SIGURG };

static struct sigaction former;
static bool installed;
static char token;  // its address marks signals as ours

// --- Threads that run kernels ----------------------------------------------

static struct lock list_lock = LOCK_RANKED(RANK_LEAF);  // guards the list
static struct stop_thread *list;
static _Atomic uint32_t process = 1;  // differs from the parent's after a fork

// After a fork only this thread is left, with another id.
static void forked(void)
{
    list_lock = (struct lock)LOCK_RANKED(RANK_LEAF);
    list = NULL;
    atomic_fetch_add(&process, 1);
}

// Threads of the library start with nearly all signals blocked, and a program
// may block this one.
static void unblock(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static __attribute__((noinline)) void enlist(struct stop_thread *self)
{
    unblock();
    self->id = (pid_t)syscall(SYS_gettid);
    lock_take(&list_lock);
    self->process = atomic_load(&process);
    self->next = list;
    self->link = &list;
    if (list)
        list->link = &self->next;
    list = self;
    lock_give(&list_lock);
}

void stop_thread_end(struct runner *runner)
{
    struct stop_thread *self = &runner->stop;
    if (self->process != atomic_load(&process))
        return;
    lock_take(&list_lock);
    *self->link = self->next;
    if (self->next)
        self->next->link = self->link;
    lock_give(&list_lock);
    self->process = 0;
}

// --- Around a run ----------------------------------------------------------

static void wake(struct watchdog *watchdog)
{
    atomic_fetch_add(&watchdog->word, 1);
    futex_wake(&watchdog->word, 1);
}

static uint64_t deadline_of(const struct stop_scope *scope)
{
    uint64_t limit = scope->watchdog->limit_ns;
    return scope->deadline || limit == 0 ? scope->deadline
                                         : clock_deadline(limit);
}

// Either this thread sees that the watchdog sleeps, or the watchdog sees the
// turn.
static void arm(struct watchdog *watchdog)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&watchdog->asleep))
        wake(watchdog);
}

// Stores in an order that readers of turn, owner and turn rely on.
void stop_begin(struct runner *runner)
{
    struct stop_thread *self = &runner->stop;
    const struct stop_scope *scope = runner->run->scope;
    if (!scope || !installed)
        return;
    if (__builtin_expect(self->process != atomic_load_explicit(
                                              &process, memory_order_relaxed),
                         0))
        enlist(self);
    bool limited = scope->watchdog->limit_ns > 0;
    uint64_t turn = atomic_load_explicit(&self->turn, memory_order_relaxed);
    atomic_store_explicit(&self->owner, scope->owner, memory_order_release);
    atomic_store_explicit(&self->deadline, limited ? deadline_of(scope) : 0,
                          memory_order_release);
    atomic_store_explicit(&self->turn, turn + 1, memory_order_release);
    if (limited)
        arm(scope->watchdog);
}

void stop_end(struct runner *runner)
{
    struct stop_thread *self = &runner->stop;
    uint64_t turn = atomic_load_explicit(&self->turn, memory_order_relaxed);
    if (turn & 1)
        atomic_store_explicit(&self->turn, turn + 1, memory_order_release);
}

// --- Asking ----------------------------------------------------------------

static bool is_running(uint64_t turn)
{
    return turn & 1;
}

// The list is locked, so the thread has not ended.
static void ask_locked(struct stop_thread *thread, uint64_t turn,
                       enum stop_reason reason)
{
    ASSERT(lock_is_held(&list_lock));
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = &token;
    if (atomic_load(&thread->asked) != turn) {
        atomic_store(&thread->reason, reason);
        atomic_store(&thread->asked, turn);
    }
    syscall(SYS_rt_tgsigqueueinfo, getpid(), thread->id, SIGNAL, &info);
}

static bool is_over(const struct stop_request *request)
{
    return atomic_load(request->done) >= atomic_load(request->until);
}

// A turn that was read before `done` belongs to what the request is about.
static void ask_owners(const struct stop_request *request)
{
    lock_take(&list_lock);
    for (struct stop_thread *at = list; at; at = at->next) {
        uint64_t turn = atomic_load(&at->turn);
        if (!is_running(turn) || atomic_load(&at->owner) != request->owner ||
            is_over(request) ||
            atomic_load(&at->turn) != turn)
            continue;
        ask_locked(at, turn, STOP_CANCELLED);
    }
    lock_give(&list_lock);
}

struct stop_look {
    uint64_t next;   // when to look again
    uint64_t turns;  // of all threads, which tells whether any ran
    bool running;
};

static void look_at_locked(struct stop_thread *thread, uint64_t now,
                           struct stop_look *look)
{
    ASSERT(lock_is_held(&list_lock));
    uint64_t turn = atomic_load(&thread->turn);
    uint64_t deadline = atomic_load(&thread->deadline);
    bool running = is_running(turn);
    look->turns += turn;
    // Between two runs of a launch, the next one has the same deadline.
    if (deadline == 0 || atomic_load(&thread->turn) != turn ||
        (!running && deadline <= now))
        return;
    look->running |= running;
    if (deadline <= now) {
        ask_locked(thread, turn, STOP_LIMIT);
        deadline = now + STOP_AGAIN_NS;
    }
    if (deadline < look->next)
        look->next = deadline;
}

static struct stop_look look_at_limits(uint64_t now)
{
    struct stop_look look = {.next = RNL_FOREVER};
    lock_take(&list_lock);
    for (struct stop_thread *at = list; at; at = at->next)
        look_at_locked(at, now, &look);
    lock_give(&list_lock);
    return look;
}

// --- The watchdog -----------------------------------------------------------

// True while there are any.
static bool look_at_requests(struct watchdog *watchdog, bool *out_stopping)
{
    lock_take(&watchdog->lock);
    *out_stopping = watchdog->stopping;
    struct stop_request **link = &watchdog->requests;
    while (*link) {
        struct stop_request *request = *link;
        if (is_over(request)) {
            *link = request->next;
            request->listed = false;
            continue;
        }
        ask_owners(request);
        link = &request->next;
    }
    bool any = watchdog->requests != NULL;
    lock_give(&watchdog->lock);
    return any;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// When to look again; RNL_FOREVER when nothing is to be looked after. A run
// that begins meanwhile has its end a limit later than now.
static uint64_t look(struct watchdog *watchdog, uint64_t *turns,
                     bool *out_stopping)
{
    uint64_t now = clock_now(), next = RNL_FOREVER;
    if (look_at_requests(watchdog, out_stopping))
        next = now + STOP_AGAIN_NS;
    if (watchdog->limit_ns == 0)
        return next;
    struct stop_look seen = look_at_limits(now);
    if (seen.running || seen.turns != *turns)
        next = earlier(earlier(next, seen.next),
                       clock_deadline(watchdog->limit_ns));
    *turns = seen.turns;
    return next < now + STOP_NAP_LEAST_NS ? now + STOP_NAP_LEAST_NS : next;
}

static void *run(void *argument)
{
    struct watchdog *watchdog = argument;
    uint64_t turns = 0;
    bool stopping = false;
    for (;;) {
        uint32_t word = atomic_load(&watchdog->word);
        uint64_t next = look(watchdog, &turns, &stopping);
        if (stopping)
            return NULL;
        if (next != RNL_FOREVER) {
            atomic_store(&watchdog->asleep, false);
            futex_wait(&watchdog->word, word, next);
        } else if (!atomic_load(&watchdog->asleep)) {
            // Looks once more after it has said so.
            atomic_store(&watchdog->asleep, true);
            atomic_thread_fence(memory_order_seq_cst);
        } else {
            futex_wait(&watchdog->word, word, RNL_FOREVER);
        }
    }
}

rnl_status watchdog_start(struct watchdog *watchdog)
{
    lock_take(&watchdog->lock);
    if (!watchdog->started)
        watchdog->started =
            thread_start(&watchdog->thread, "runnel-stop", run, watchdog);
    bool started = watchdog->started;
    lock_give(&watchdog->lock);
    return started ? RNL_OK
                   : fail(RNL_ERROR_OUT_OF_MEMORY,
                          "the system did not start the thread that stops "
                          "kernels");
}

void watchdog_finish(struct watchdog *watchdog)
{
    lock_take(&watchdog->lock);
    bool started = watchdog->started;
    watchdog->stopping = true;
    lock_give(&watchdog->lock);
    if (!started)
        return;
    wake(watchdog);
    pthread_join(watchdog->thread, NULL);
}

void watchdog_add(struct watchdog *watchdog, struct stop_request *request)
{
    lock_take(&watchdog->lock);
    if (!request->listed) {
        request->listed = true;
        request->next = watchdog->requests;
        watchdog->requests = request;
    }
    lock_give(&watchdog->lock);
    wake(watchdog);
}

void watchdog_remove(struct watchdog *watchdog, struct stop_request *request)
{
    lock_take(&watchdog->lock);
    struct stop_request **link = &watchdog->requests;
    while (*link && *link != request)
        link = &(*link)->next;
    if (*link)
        *link = request->next;
    request->listed = false;
    lock_give(&watchdog->lock);
}

// --- Leaving a kernel ------------------------------------------------------

static bool is_asked(const struct stop_thread *self)
{
    uint64_t turn = atomic_load_explicit(&self->turn, memory_order_relaxed);
    return is_running(turn) &&
           atomic_load_explicit(&self->asked, memory_order_relaxed) == turn;
}

static bool is_in_kernel(const struct runner *runner, const void *context)
{
    const struct code_range *code = &runner->run->code;
    uintptr_t at = fiber_context_instruction(context);
    return runner->inside && at >= code->low && at < code->high;
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction action = former;
    if (action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL)
        return;
    if (action.sa_flags & SA_RESETHAND)
        former.sa_handler = SIG_DFL;
    fault_call_former(&action, number, info, context);
}

static void handle(int number, siginfo_t *info, void *context)
{
    int error = errno;
    struct runner *runner = runner_here();
    if (info->si_code != SI_QUEUE || info->si_value.sival_ptr != &token)
        pass_on(number, info, context);
    if (runner && is_asked(&runner->stop) && is_in_kernel(runner, context)) {
        int reason = atomic_load(&runner->stop.reason);
        runner->fault = (struct fault){.number = number, .code = reason};
        fault_leave(runner, stop_status(reason), context);
    }
    errno = error;
}

static void install(void)
{
    static atomic_bool noticed;
    static const struct fork_hooks hooks = {.in_child = forked};
    if (stop_unsupported_reason()[0] ||
        !thread_notice_forks(&noticed, &hooks) ||
        sigaction(SIGNAL, NULL, &former) != 0)
        return;
    // A system call that it interrupts by being late goes on.
    struct sigaction action = {.sa_sigaction = handle};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    installed = sigaction(SIGNAL, &action, NULL) == 0;
}

void stop_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
}

const char *stop_unsupported_reason(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return fault_unsupported_reason();
#else
    return "kernels are left by a switch of stacks in a signal handler, which "
           "there is on x86-64 and AArch64 only";
#endif
}

void stop_here(struct runner *runner, uint32_t thread)
{
    char text[128];
    if (!is_asked(&runner->stop))
        return;
    int reason = atomic_load(&runner->stop.reason);
    runner->fault = (struct fault){.number = SIGNAL, .code = reason};
    stop_describe(runner, text, sizeof text);
    runner->fault.number = 0;
    runner_fail(runner, stop_status(reason), thread, "%s", text);
}

// --- Words -----------------------------------------------------------------

bool stop_is_fault(int number)
{
    return number == SIGNAL;
}

rnl_status stop_status(enum stop_reason reason)
{
    return reason == STOP_LIMIT ? RNL_ERROR_KERNEL_LIMIT
                                : RNL_ERROR_CANCELLED;
}

static void describe_limit(uint64_t limit_ns, const char *end, char *text,
                           size_t size)
{
    uint64_t us = limit_ns / 1000;
    snprintf(text, size,
             "it ran longer than its limit of %" PRIu64 ".%03u ms%s",
             us / 1000, (unsigned)(us % 1000), end);
}

void stop_describe(const struct runner *runner, char *text, size_t size)
{
    const struct stop_scope *scope = runner->run->scope;
    if (runner->fault.code == STOP_LIMIT)
        describe_limit(scope->watchdog->limit_ns, " and was stopped", text,
                       size);
    else
        snprintf(text, size, "it was stopped: its stream was cancelled");
}

void stop_describe_launch(enum stop_reason reason, uint64_t limit_ns,
                          char *text, size_t size)
{
    if (reason == STOP_LIMIT)
        describe_limit(limit_ns, "; the rest of it was not begun", text, size);
    else
        snprintf(text, size, "the stream was cancelled; the rest of it was not "
                             "begun");
}

// base/asymmetric_fence: what the system may refuse, and when. That what two
// threads write is seen is tested with what is guarded (object.c).
#include "unit.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/asymmetric_fence.h"


#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

// As a sandbox that begins after the library was opened.
static void forbid_membarrier(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        skip();
}

RNL_TEST(where_the_system_refuses_both_fences_are_ordinary)
{
    forbid_membarrier();
    asymmetric_fence_open();
    assert_int_equal(read_mostly.fence_mode, FENCE_LOCAL);
    asymmetric_fence_heavy();
    asymmetric_fence_light();
}

RNL_TEST(a_system_that_refuses_later_is_asked_once_more)
{
    enter_call("a call");
    assert_false(thread_has_hazards());
    asymmetric_fence_open();
    if (read_mostly.fence_mode != FENCE_REMOTE)
        skip();
    assert_true(thread_has_hazards());
    asymmetric_fence_heavy();
    assert_int_equal(read_mostly.fence_mode, FENCE_REMOTE);
    forbid_membarrier();
    asymmetric_fence_heavy();
    assert_int_equal(read_mostly.fence_mode, FENCE_LOCAL);
    assert_false(thread_has_hazards());
    asymmetric_fence_light();
}

static void interrupt(int signal)
{
    (void)signal;
}

// While one thread waits for the others to settle, a second one may not go on.
RNL_TEST(whoever_finds_others_settling_waits_as_long_whatever_interrupts)
{
    const struct itimerval frequent = {{0, 100}, {0, 100}}, never = {0};
    const struct sigaction action = {.sa_handler = interrupt};
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    read_mostly.fence_mode = FENCE_SETTLING;
    uint64_t begin = clock_now();
    assert_int_equal(setitimer(ITIMER_REAL, &frequent, NULL), 0);
    asymmetric_fence_heavy();
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_true(clock_now() - begin >= FENCE_SETTLE_NS);
    assert_int_equal(read_mostly.fence_mode, FENCE_LOCAL);
}

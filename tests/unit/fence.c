// base/fence: what the system may refuse, and when. That what two threads write
// is seen is tested with what is guarded (object.c).
#include "unit.h"

#include "base/fence.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

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
    fence_open();
    assert_false(atomic_load(&fence_is_remote));
    fence_heavy();
    fence_light();
}

RNL_TEST(a_system_that_refuses_later_is_asked_once_more)
{
    fence_open();
    if (!atomic_load(&fence_is_remote))
        skip();
    fence_heavy();
    assert_true(atomic_load(&fence_is_remote));
    forbid_membarrier();
    fence_heavy();
    assert_false(atomic_load(&fence_is_remote));
    fence_light();
}

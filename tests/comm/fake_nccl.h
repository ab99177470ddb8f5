// Tests control the fake of NCCL by this struct, also while a thread of the
// library polls.
#pragma once

struct fake_nccl_control {
    char fail_name[40];             // "": any function
    _Atomic unsigned long fail_at;  // the call that fails, from 1; 0: none
    int fail_code;
    _Atomic unsigned long calls;       // of such functions so far
    _Atomic int async_error;           // of all communicators; 0: none
    void (*_Atomic in_group)(void);    // or NULL; called once by ncclGroupEnd
    void (*_Atomic in_destroy)(void);  // or NULL; called by ncclCommDestroy
    int polls;            // until an operation has begun; 0: a few
    _Atomic int comms;    // that are alive
    _Atomic int misuses;  // calls that NCCL forbids
};

// Found by dlsym.
typedef struct fake_nccl_control *fake_nccl_control_fn(void);
struct fake_nccl_control *fake_nccl_control(void);

// What tests tell the fake of NCCL.
#pragma once

struct fake_nccl_control {
    char fail_name[40];     // "": any function
    unsigned long fail_at;  // the number of the call that fails; 0: none
    int fail_code;
    unsigned long calls;  // of such functions so far
    int async_error;      // of all communicators; 0: none
    int comms;            // that are alive
    int misuses;          // calls with another context than the
                          // communicator's
};

// Found by dlsym.
typedef struct fake_nccl_control *fake_nccl_control_fn(void);
struct fake_nccl_control *fake_nccl_control(void);

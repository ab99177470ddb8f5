// The fake's controls for tests that run the backend on it: RUNNEL_CUDA names
// the library, or RUNNEL_HIP where the device under test is of hip.
#pragma once

#include "test.h"

#include "fake_control.h"

extern fake_live_fn *fake_live;
extern fake_fail_fn *fake_fail;
extern fake_meet_fn *fake_meet;
extern fake_calls_fn *fake_calls;
extern fake_failed_fn *fake_failed;
extern fake_break_fn *fake_break;
extern fake_capture_fn *fake_capture;
extern fake_image_fn *fake_image;
extern fake_complaint_fn *fake_complaint;
extern fake_attributes_fn *fake_attributes;

// Opens the library and finds them.
void fake_load(void);

// Waits until the library holds nothing, then checks that the driver does not
// either, and that nothing was done that the real one leaves undefined.
void fake_expect_empty(void);

// The device under test is one of libamdhip64; its api.
bool fake_is_hip(void);
const char *fake_api(void);

// A context of device 0 that is not Runnel's: the same in the whole process. On
// HIP a device has only one, whose handle is its number and one.
void *fake_foreign(void);

// What most tests have: a context, a stream with these flags and a buffer of so
// many bytes. fake_close lets go of them and checks that nothing is left.
void fake_open(rnl_context *context, rnl_stream *stream,
               rnl_stream_flags flags, rnl_buffer *buffer, size_t size);
void fake_close(rnl_context context, rnl_stream stream, rnl_buffer buffer);

// A module of C functions: "add" adds its int argument to the first `count`
// ints of its pointer: (pointer, int value, int count).
rnl_status fake_module(rnl_context context, rnl_module *out_module);

// Runs this program's test again in a process with `environment` added
// ("NAME=value", NULL at the end) and TEST_CHILD set. Its exit status.
int fake_spawn(const char *test, const char *const *environment);
bool fake_is_child(void);

// In such a process, with `setting` added, the api under test has no device,
// and the reason has `words` in it. The process calls this, too.
void fake_expect_absent(const char *test, const char *setting,
                        const char *words);

// Starts this program's test again in a process with TEST_CHILD set, and reads
// the handle that it writes to descriptor 3. `*out_to` is the process's input.
pid_t fake_start(const char *test, int *out_to, rnl_ipc_handle *out_handle);
// Closes the input and expects the process to succeed.
void fake_finish(pid_t process, int to);

// Host functions, and what each gets as its user_data. fake_hold says that it
// was entered and returns when it is let go; fake_count counts calls and keeps
// the last status; fake_see keeps the status in a rnl_status.
struct fake_gate {
    _Atomic int entered, open;
};
void fake_hold(rnl_status status, void *gate);
void fake_await_entered(struct fake_gate *gate);
// For fake_meet: holds a call of the driver like a host function.
void fake_hold_call(void *gate);
struct fake_told {
    _Atomic int count, status;
};
void fake_count(rnl_status status, void *told);
void fake_see(rnl_status status, void *seen);

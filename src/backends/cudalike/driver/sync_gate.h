// The sync gate between calls that wait for the whole device and copies of
// ordinary memory (sync_gate.c).
#pragma once

#include "backends/cudalike/driver/gpu_context.h"

// Enclose a call that waits for the device and cannot be delayed.
void sync_gate_enter(const struct gpu_context *gpu);
void sync_gate_leave(const struct gpu_context *gpu);
// The same for a call that rarely waits for the device: it does not wait for
// copies.
void sync_gate_enter_now(const struct gpu_context *gpu);
// Enclose a copy of ordinary memory; false: the copy must wait.
bool sync_gate_copy_begin(const struct gpu_context *gpu);
void sync_gate_copy_end(const struct gpu_context *gpu);
// Begins a copy in any case, for a copy that the host does without the driver.
void sync_gate_copy_enter(const struct gpu_context *gpu);
// True if a copy is under way or about to be.
bool sync_gate_has_copies(const struct gpu_context *gpu);
// Begins a copy that the device is about to wait for: only a call that has
// begun prevents the copy.
bool sync_gate_copy_urgent(const struct gpu_context *gpu);
// Enclose queries of the driver by the progress thread; NULL: not now.
struct gate *sync_gate_look_begin(const struct gpu_context *gpu);
void sync_gate_look_end(struct gate *gate);
// Waits until every call that has begun is over.
void sync_gate_await(const struct gpu_context *gpu);

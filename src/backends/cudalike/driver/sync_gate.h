// The gate between calls that wait for the whole device and copies of ordinary
// memory (sync_gate.c).
#pragma once

#include "backends/cudalike/driver/gpu_context.h"

// Around a call that waits for the device and cannot be put off.
void sync_gate_enter(const struct gpu_context *gpu);
void sync_gate_leave(const struct gpu_context *gpu);
// The same for one that mostly does not wait, so it does not for copies.
void sync_gate_enter_now(const struct gpu_context *gpu);
// Around a copy of ordinary memory; false: not now.
bool sync_gate_copy_begin(const struct gpu_context *gpu);
void sync_gate_copy_end(const struct gpu_context *gpu);
// In any case: the host alone copies, and nothing of the device waits for it.
void sync_gate_copy_enter(const struct gpu_context *gpu);
// Whether one is under way, or about to be.
bool sync_gate_has_copies(const struct gpu_context *gpu);
// The same for one that the device is about to wait for: only a call that has
// begun is in its way.
bool sync_gate_copy_urgent(const struct gpu_context *gpu);
// Around what the progress thread asks of the driver; NULL: not now.
struct gate *sync_gate_look_begin(const struct gpu_context *gpu);
void sync_gate_look_end(struct gate *gate);
// Waits until no such call has begun.
void sync_gate_await(const struct gpu_context *gpu);

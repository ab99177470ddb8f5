// The part of the backend table that all backends on cudalike share.
#pragma once

#include "backends/cudalike/context/context.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/graph/graph.h"
#include "backends/cudalike/module/module.h"
#include "backends/cudalike/stream/event.h"
#include "backends/cudalike/stream/launch.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/gpu_stream.h"

// Fields of a struct backend. Left to the backend are names, features, devices,
// context_init, feature_reason and the compiler.
#define GPU_BACKEND_HOOKS                                                     \
    .context_size = sizeof(struct gpu_context),                               \
    .stream_size = sizeof(struct gpu_stream),                                 \
    .event_size = sizeof(struct gpu_event),                                   \
    .module_size = sizeof(struct gpu_module),                                 \
    .function_size = sizeof(struct gpu_function),                             \
    .exec_size = sizeof(struct gpu_exec),                                     \
    .context_finish = gpu_context_finish,                                     \
    .context_memory = gpu_context_memory, .peer_access = gpu_peer_access,     \
    .stream_init = gpu_stream_init, .stream_finish = gpu_stream_finish,       \
    .stream_submit = gpu_stream_submit, .stream_launch = gpu_stream_launch,   \
    .stream_query = gpu_stream_query, .stream_wait = gpu_stream_wait,         \
    .stream_join = gpu_stream_join, .stream_reset = gpu_stream_reset,         \
    .event_init = gpu_event_init, .event_finish = gpu_event_finish,           \
    .event_record = gpu_event_record, .event_join = gpu_event_join,           \
    .event_query = gpu_event_query, .event_wait = gpu_event_wait,             \
    .event_elapsed = gpu_event_elapsed, .event_break = gpu_event_break,       \
    .event_share = gpu_event_share, .memory_allocate = gpu_memory_allocate,   \
    .memory_free = gpu_memory_free, .memory_share = gpu_memory_share,         \
    .memory_advise = gpu_memory_advise, .host_register = gpu_host_register,   \
    .module_init = gpu_module_init, .module_finish = gpu_module_finish,       \
    .module_global = gpu_module_global, .module_kernel = gpu_module_kernel,   \
    .module_code = gpu_module_code, .function_init = gpu_function_init,       \
    .function_finish = gpu_function_finish,                                   \
    .function_occupancy = gpu_function_occupancy, .exec_init = gpu_exec_init, \
    .exec_finish = gpu_exec_finish, .exec_change = gpu_exec_change,           \
    .exec_upload = gpu_exec_upload, .native = gpu_native

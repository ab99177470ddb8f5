// Runnel: device contexts, streams, events, buffers and run-time compiled
// kernels for C. One include for everything; each header also stands alone, and
// <runnel/base.h> has the conventions that all of them follow.
//
//   rnl_context context; rnl_stream stream; rnl_function scale;
//   rnl_context_open(NULL, 0, NULL, &context);         // the best device
//   rnl_context_default_stream(context, &stream);
//   rnl_function_compile(context, source, "scale", NULL, &scale);
//   rnl_enqueue_function(stream, scale,
//                        RNL_LAUNCH(.grid = {blocks}, .block = {256}),
//                        RNL_ARGS(buffer, count, 2.0f));
//   rnl_stream_synchronize(stream, RNL_FOREVER);
#ifndef RUNNEL_RUNNEL_H
#define RUNNEL_RUNNEL_H

#include <runnel/base.h>
#include <runnel/buffer.h>
#include <runnel/cache.h>
#include <runnel/capture.h>
#include <runnel/context.h>
#include <runnel/copy.h>
#include <runnel/cpu.h>
#include <runnel/device.h>
#include <runnel/dlpack.h>
#include <runnel/embedded.h>
#include <runnel/event.h>
#include <runnel/graph.h>
#include <runnel/host.h>
#include <runnel/interop.h>
#include <runnel/interprocess.h>
#include <runnel/launch.h>
#include <runnel/launch_attribute.h>
#include <runnel/memory.h>
#include <runnel/module.h>
#include <runnel/status.h>
#include <runnel/stream.h>
#include <runnel/stream_attribute.h>
#include <runnel/timing.h>
#include <runnel/values.h>
#include <runnel/version.h>

#endif

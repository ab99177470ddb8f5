// Runnel beside other users of the vendor's driver: objects as the vendor's
// own handles, and streams of others as Runnel's.
//
// A handle that is given out stays Runnel's: do not destroy it, and do not use
// it when the object is gone. Work that you give to a native stream yourself is
// in order with Runnel's work on it, and Runnel waits for it like for its own;
// what it uses is yours to keep alive.
//
// The vendor's legacy default stream waits for what the driver was given. Work
// behind a host function or a copy of ordinary memory is given to it when that
// is done: synchronize first, or use rnl_stream_native.
//
// RNL_ERROR_UNSUPPORTED without RNL_FEATURE_NATIVE_HANDLES: the cpu has no
// vendor.
#ifndef RUNNEL_INTEROP_H
#define RUNNEL_INTEROP_H

#include <runnel/stream.h>

RNL_BEGIN_DECLS

// The vendor's context of `context`; cuda: a CUcontext, the device's primary
// one, which other contexts of the device share.
RNL_API rnl_status rnl_context_native(rnl_context context, void **out_native);

// The vendor's stream; cuda: a CUstream. What a batched stream has collected is
// submitted first.
RNL_API rnl_status rnl_stream_native(rnl_stream stream, void **out_native);

// The vendor's event for the last record of `event`; cuda: a CUevent. Good
// until the next record or the release; to wait for and to ask, not to be
// recorded: other events may stand for the same point. RNL_ERROR_INVALID_STATE
// when it was never recorded.
RNL_API rnl_status rnl_event_native(rnl_event event, void **out_native);

// cuda: a CUmodule and a CUfunction.
RNL_API rnl_status rnl_module_native(rnl_module module, void **out_native);
RNL_API rnl_status rnl_function_native(rnl_function function,
                                       void **out_native);

// A stream of Runnel's that stands for the vendor's stream `native` of the same
// vendor's context. Its owner must keep it until the last reference to
// `*out_stream` is gone, with every call that was given it, and until
// rnl_stream_synchronize or rnl_stream_query has told that its work is done.
// `options`: the priority is not looked at.
RNL_API rnl_status rnl_stream_borrow(rnl_context context, void *native,
                                     const rnl_stream_options *options,
                                     rnl_stream *out_stream);

RNL_END_DECLS

#endif

// Runnel beside other users of the vendor's driver: objects as the vendor's
// own handles, and streams of others as Runnel's.
//
// A handle that is given out stays Runnel's: do not destroy it, and do not use
// it when the object is gone. Work that you give to a native stream yourself is
// in order with Runnel's work there, and Runnel waits for both alike; keep
// alive the objects that your work uses.
//
// The vendor's legacy default stream waits for what the driver was given. Work
// behind a host function or a copy of ordinary memory is given to it when that
// is done: synchronize first, or use rnl_stream_native.
//
// RNL_ERROR_UNSUPPORTED without RNL_FEATURE_NATIVE_HANDLES: the cpu has no
// vendor.
#ifndef RUNNEL_INTEROP_H
#define RUNNEL_INTEROP_H

#include <runnel/context.h>
#include <runnel/stream.h>

RNL_BEGIN_DECLS

// The vendor's default streams by their handles, which each context has: the
// legacy stream, which waits for all blocking streams of the context as these
// wait for the legacy stream, and the stream of each thread.
#define RNL_NATIVE_LEGACY ((void *)1)      // CU_STREAM_LEGACY; NULL, too
#define RNL_NATIVE_PER_THREAD ((void *)2)  // CU_STREAM_PER_THREAD

// The vendor's context of `context`; cuda: a CUcontext, the device's primary
// context, which contexts of the device share, or the adopted context.
RNL_API rnl_status rnl_context_native(rnl_context context, void **out_native);

// A context of Runnel's in the vendor's context `native` of `api`; cuda: any
// CUcontext, also that of a green context (cuCtxFromGreenCtx). Streams, memory
// and modules are made in it; the driver tells the device. Its owner keeps it:
// Runnel neither destroys nor resets it, and the current context of the calling
// thread stays as it was. The owner must not destroy it before `deleter` of the
// options was called, behind the last release and the last work, once nothing
// that Runnel gave the device runs; without a deleter, before rnl_trim tells
// that nothing is held. A primary context is retained, as rnl_context_create
// does. RNL_ERROR_INVALID_ARGUMENT for a pointer that the driver knows not to
// be a context; it need not know. RNL_ERROR_NO_DEVICE where RUNNEL_DEVICES
// hides the device. cpu: RNL_ERROR_UNSUPPORTED, since it has no vendor.
RNL_API rnl_status rnl_context_adopt(const char *api, void *native,
                                     const rnl_context_options *options,
                                     rnl_context *out_context);

// The vendor's stream; cuda: a CUstream. What a batched stream has collected is
// submitted first.
RNL_API rnl_status rnl_stream_native(rnl_stream stream, void **out_native);

// Fails `stream` with `failure` and `message` (copied; at most 511 bytes are
// shown), unless it has failed already: for work that the caller gave the
// native stream itself and that went wrong, which Runnel cannot see. Later
// calls on the stream and waits for it report the failure, waits that are under
// way too once the native stream is done. What the stream has in flight runs
// on; streams that wait for it already are not told. RNL_ERROR_INVALID_ARGUMENT
// when `failure` is no error. Does not block. Stands for no vendor call.
RNL_API rnl_status rnl_stream_fail(rnl_stream stream, rnl_status failure,
                                   const char *message);

// The vendor's event for the last record of `event`; cuda: a CUevent. Good
// until the next record or the release; to wait for and to ask, not to be
// recorded: other events may stand for the same point. RNL_ERROR_INVALID_STATE
// when it was never recorded; RNL_ERROR_UNSUPPORTED for an interprocess event,
// which is none of the vendor's.
RNL_API rnl_status rnl_event_native(rnl_event event, void **out_native);

// cuda: a CUmodule and a CUfunction.
RNL_API rnl_status rnl_module_native(rnl_module module, void **out_native);
RNL_API rnl_status rnl_function_native(rnl_function function,
                                       void **out_native);

// A stream of Runnel's that stands for the vendor's stream `native` of the same
// vendor's context; NULL and RNL_NATIVE_LEGACY: the legacy default stream. Its
// owner must keep it until the last reference to `*out_stream` is gone, with
// every call that was given it, and until rnl_stream_synchronize or
// rnl_stream_query has told that its work is done.
// Priority, RNL_STREAM_NON_BLOCKING and attributes are the driver's, whatever
// `options` say. RNL_ERROR_INVALID_HANDLE for a stream of another context.
// The legacy stream cannot be captured, nor join a capture:
// RNL_ERROR_CAPTURE_UNSUPPORTED, as the driver has it.
// RNL_NATIVE_PER_THREAD is RNL_ERROR_UNSUPPORTED: the handle means another
// stream on each thread, and threads of Runnel give work to a stream and ask
// how far it is. Make a stream, and wait between the two by rnl_event_native.
// Stands for cuStreamGetFlags, cuStreamGetPriority and cuStreamGetCtx.
RNL_API rnl_status rnl_stream_borrow(rnl_context context, void *native,
                                     const rnl_stream_options *options,
                                     rnl_stream *out_stream);

RNL_END_DECLS

#endif

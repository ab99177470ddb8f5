// Copies and fills, as ops.
#pragma once

#include "core/object/buffer_object.h"
#include "core/stream/op.h"

struct function;

// Copies and fills of the library's own, already checked. A fill keeps the
// buffer; a copy keeps nothing.
rnl_status copy_submit(struct stream *stream, void *to, const void *from,
                       size_t size);
rnl_status fill_submit(struct stream *stream, struct buffer *buffer,
                       size_t size);

// `*out_op` is NULL when there is nothing to copy or fill.
rnl_status make_copy_op(struct stream *stream, const rnl_copy *copy,
                        struct op **out_op);
rnl_status make_fill_op(struct stream *stream, const rnl_fill *fill,
                        struct op **out_op);

// How many bytes a width of RNL_WHOLE is.
__attribute__((cold)) rnl_status whole_copy_width(const rnl_copy *copy,
                                                  size_t *out_width);
__attribute__((cold)) rnl_status whole_fill_width(const rnl_fill *fill,
                                                  size_t *out_width);

// A copy of the bytes of a launch's constant, to come before the launch.
rnl_status make_constant_op(struct stream *stream, struct function *function,
                            const rnl_constant *constant, struct op **out_op);

// Rows of the handle misuse matrix: stream memory operations. Included by
// handles.c alone.
#pragma once

ROW_CALL(write32_stream, stream,
         rnl_enqueue_write_value32(h, with.buffer, 0, 1))
ROW_CALL(write32_buffer, buffer,
         rnl_enqueue_write_value32(with.stream, h, 0, 1))
ROW_CALL(write64_stream, stream,
         rnl_enqueue_write_value64(h, with.buffer, 0, 1))
ROW_CALL(write64_buffer, buffer,
         rnl_enqueue_write_value64(with.stream, h, 0, 1))
ROW_CALL(wait32_stream, stream,
         rnl_enqueue_wait_value32(h, with.buffer, 0, 1, RNL_WAIT_EQ))
ROW_CALL(wait32_buffer, buffer,
         rnl_enqueue_wait_value32(with.stream, h, 0, 1, RNL_WAIT_EQ))
ROW_CALL(wait64_stream, stream,
         rnl_enqueue_wait_value64(h, with.buffer, 0, 1, RNL_WAIT_GEQ))
ROW_CALL(wait64_buffer, buffer,
         rnl_enqueue_wait_value64(with.stream, h, 0, 1, RNL_WAIT_GEQ))
// The address of the matrix's own buffer, whose words are never all ones.
static void *word_address(void)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    rnl_buffer_get_info(with.buffer, &info);
    return info.device_address;
}

ROW_CALL(write32_at, stream,
         rnl_enqueue_write_address32(h, word_address(), 1, 0))
ROW_CALL(write64_at, stream,
         rnl_enqueue_write_address64(h, word_address(), 1, 0))
ROW_CALL(wait32_at, stream,
         rnl_enqueue_wait_address32(h, word_address(), 0, RNL_WAIT_NOR, 0))
ROW_CALL(wait64_at, stream,
         rnl_enqueue_wait_address64(h, word_address(), 0, RNL_WAIT_NOR, 0))
ROW_CALL(values_stream, stream, rnl_enqueue_values(h, NULL, 0))
ROW_CALL(values_buffer, buffer,
         rnl_enqueue_values(with.stream,
                            RNL_VALUE_OP(.action = RNL_WRITE_VALUE,
                                         .width = 32, .buffer = h), 1))

// Calls of the matrix in handles.c, which has no room for all of them. Included
// there, in the middle.

// --- Attributes, priorities, timing ----------------------------------------

static rnl_status set_attribute(void *handle)
{
    rnl_stream_attribute attribute = {.struct_size = sizeof attribute,
                                      .id = RNL_STREAM_DOMAIN};
    return rnl_stream_set_attribute(handle, &attribute);
}

static rnl_status get_attribute(void *handle)
{
    rnl_stream_attribute attribute = {.struct_size = sizeof attribute};
    return rnl_stream_get_attribute(handle, RNL_STREAM_DOMAIN, &attribute);
}

static rnl_status time_nothing(rnl_stream stream, size_t iteration,
                               void *user_data)
{
    (void)stream;
    (void)iteration;
    (void)user_data;
    return RNL_OK;
}

ROW_CALL(launch_effect, context,
         rnl_launch_attribute_has_effect(h, RNL_LAUNCH_PRIORITY, &with.out.flag,
                                         &with.out.text))
ROW_CALL(context_priorities, context,
         rnl_context_priority_range(h, NULL, NULL))
ROW_CALL(copy_attributes_to, stream,
         rnl_stream_copy_attributes(h, with.stream))
ROW_CALL(copy_attributes_from, stream,
         rnl_stream_copy_attributes(with.stream, h))
ROW_CALL(time_and_wait, stream,
         rnl_time_and_wait(h, 1, time_nothing, NULL, with.out.bits))

// --- Streams ---------------------------------------------------------------

ROW_CALL(host_call, stream,
         rnl_enqueue_host_call(h, RNL_HOST_CALL(.function = count_host_call,
                                                .user_data = with.host)))
ROW_CALL(stream_flush, stream, rnl_stream_flush(h))
ROW_CALL(stream_cancel, stream, rnl_stream_cancel(h))

// --- Other processes -------------------------------------------------------

static rnl_status export_to_nobody(void *handle)
{
    static rnl_ipc_handle out;
    return rnl_buffer_export(handle, &out);
}

static rnl_status export_event(void *handle)
{
    static rnl_ipc_handle out;
    return rnl_event_export(handle, &out);
}

ROW_CALL(event_import, context,
         rnl_event_import(h, &(rnl_ipc_handle){{0}}, &with.out.event))
ROW_CALL(buffer_import, context,
         rnl_buffer_import(h, &(rnl_ipc_handle){{0}}, &with.out.buffer))

// --- Peers -----------------------------------------------------------------

ROW_CALL(context_can_access, context,
         rnl_context_can_access_peer(h, with.context, &with.out.flag))
ROW_CALL(context_can_be_accessed, context,
         rnl_context_can_access_peer(with.context, h, &with.out.flag))
ROW_CALL(context_enable, context, rnl_context_enable_peer(h, with.context))
ROW_CALL(context_enabled, context, rnl_context_enable_peer(with.context, h))
ROW_CALL(context_disable, context, rnl_context_disable_peer(h, with.context))
ROW_CALL(context_disabled, context, rnl_context_disable_peer(with.context, h))

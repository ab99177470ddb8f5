// A launch by runnel.hpp beside the same one in C: cost.sh counts instructions.
#include <runnel/runnel.hpp>

extern "C" {

[[noreturn]] void fail_c(rnl_status status);

void launch_c(rnl_stream stream, rnl_function scale, rnl_buffer data, int n)
{
    rnl_status status = rnl_enqueue_function(
        stream, scale, RNL_LAUNCH(.grid = {4, 1, 1}, .block = {256, 1, 1}),
        RNL_ARGS(data, n, 2.0f));
    if (__builtin_expect(status != RNL_OK, 0))
        fail_c(status);
}

void launch_cpp(const runnel::stream_ref &stream,
                const runnel::function_ref<void(float *, int, float)> &scale,
                const runnel::buffer_ref<float> &data, int n)
{
    stream.launch(scale, {{4}, {256}}, data, n, 2.0f);
}

void untyped_cpp(const runnel::stream_ref &stream,
                 const runnel::function_ref<> &scale,
                 const runnel::buffer_ref<float> &data, int n)
{
    stream.launch(scale, {{4}, {256}}, data, n, 2.0f);
}

void record_c(rnl_stream stream, rnl_event event)
{
    rnl_status status = rnl_enqueue_event_record(stream, event);
    if (__builtin_expect(status != RNL_OK, 0))
        fail_c(status);
}

void record_cpp(const runnel::stream_ref &stream,
                const runnel::event_ref &event)
{
    stream.record(event);
}
}

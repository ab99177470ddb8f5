// DLPack's tensors as buffers, and buffers as tensors.
#include "suite.h"

#include <runnel/dlpack.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// As <dlpack/dlpack.h> of version 1 has it.
typedef struct tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} tensor;

struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    tensor t;
};

typedef struct DLManagedTensorVersioned managed;

_Static_assert(sizeof(tensor) == 48, "DLTensor");
_Static_assert(sizeof(managed) == 80, "DLManagedTensorVersioned");

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, ROCM = 10, FLOAT = 2 };

static _Atomic int deletions;
static float values[6];
static int64_t shape[2], strides[2];

static void count_deletion(managed *self)
{
    (void)self;
    atomic_fetch_add(&deletions, 1);
}

// Two rows of three floats in ordinary memory.
static managed make(void)
{
    for (int i = 0; i < 6; i++)
        values[i] = (float)i;
    shape[0] = 2, shape[1] = 3, strides[0] = 3, strides[1] = 1;
    deletions = 0;
    return (managed){
        1,    0,
        NULL, count_deletion,
        0,    {values, CPU, 0, 2, FLOAT, 32, 1, shape, strides, 0}};
}

static rnl_status import(managed *from, rnl_buffer *out_buffer)
{
    return rnl_buffer_from_dlpack(suite_context(), from, NULL, out_buffer);
}

static rnl_buffer_info info_of(rnl_buffer buffer)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    return info;
}

static void need_cpu(void)
{
    if (!suite_is_cpu())
        test_skip("the tensors of this test lie in the host's memory");
}

// --- From tensors ----------------------------------------------------------

RNL_TEST(a_tensor_becomes_a_buffer_of_the_same_memory)
{
    need_cpu();
    managed from = make();
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_from_dlpack(
        suite_context(), &from, RNL_DLPACK_IMPORT(.label = "rows"), &buffer));
    rnl_buffer_info info = info_of(buffer);
    assert_int_equal(info.size, sizeof values);
    assert_int_equal(info.element, RNL_ELEMENT_FLOAT32);
    assert_ptr_equal(info.device_address, values);
    assert_string_equal(info.label, "rows");
    assert_false(info.borrowed);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 4, 4, 0, 4));
    assert_true(values[0] == 0 && values[1] == 0 && values[2] == 2);
    assert_int_equal(deletions, 0);
    expect_ok(rnl_buffer_release(buffer));
    assert_int_equal(deletions, 1);
}

RNL_TEST(the_deleter_waits_for_work_on_the_tensor)
{
    need_cpu();
    managed from = make();
    rnl_buffer buffer = NULL;
    expect_ok(import(&from, &buffer));
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 24, 0, 4));
    expect_ok(rnl_buffer_release(buffer));
    gate_wait_entered(gate);
    assert_int_equal(deletions, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    assert_true(values[5] == 0);
    // The buffer goes with the work, a moment behind its end.
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    while (!deletions)
        sched_yield();
    assert_int_equal(deletions, 1);
}

RNL_TEST(a_tensor_without_a_deleter_is_borrowed)
{
    need_cpu();
    managed from = make();
    rnl_buffer buffer = NULL;
    from.deleter = NULL;
    from.t.byte_offset = 4;
    shape[0] = 1;
    expect_ok(import(&from, &buffer));
    rnl_buffer_info info = info_of(buffer);
    assert_true(info.borrowed);
    assert_ptr_equal(info.device_address, values + 1);
    assert_int_equal(info.size, 12);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(elements_are_those_of_the_tensor)
{
    need_cpu();
    static const struct {
        uint8_t code, bits;
        uint16_t lanes;
        rnl_element element;
        size_t size;
    } rows[] = {
        {0, 8, 1, RNL_ELEMENT_INT8, 6},
        {1, 8, 1, RNL_ELEMENT_UINT8, 6},
        {0, 16, 1, RNL_ELEMENT_INT16, 12},
        {1, 16, 1, RNL_ELEMENT_UINT16, 12},
        {0, 32, 1, RNL_ELEMENT_INT32, 24},
        {1, 32, 1, RNL_ELEMENT_UINT32, 24},
        {0, 64, 1, RNL_ELEMENT_INT64, 48},
        {1, 64, 1, RNL_ELEMENT_UINT64, 48},
        {2, 16, 1, RNL_ELEMENT_FLOAT16, 12},
        {4, 16, 1, RNL_ELEMENT_BFLOAT16, 12},
        {2, 32, 1, RNL_ELEMENT_FLOAT32, 24},
        {2, 64, 1, RNL_ELEMENT_FLOAT64, 48},
        {2, 32, 4, RNL_ELEMENT_FLOAT32, 96},  // float4
        {6, 8, 1, RNL_ELEMENT_UINT8, 6},      // bool
        {5, 64, 1, RNL_ELEMENT_UNKNOWN, 48},  // complex
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        managed from = make();
        rnl_buffer buffer = NULL;
        from.t.code = rows[i].code;
        from.t.bits = rows[i].bits;
        from.t.lanes = rows[i].lanes;
        expect_ok(import(&from, &buffer));
        assert_int_equal(info_of(buffer).element, rows[i].element);
        assert_int_equal(info_of(buffer).size, rows[i].size);
        expect_ok(rnl_buffer_release(buffer));
    }
}

// A failure leaves the tensor to the caller.
#define REFUSED(change, expected)                                 \
    do {                                                          \
        managed from = make();                                    \
        rnl_buffer buffer = NULL;                                 \
        change;                                                   \
        expect_error(import(&from, &buffer), expected, "tensor"); \
        assert_null(buffer);                                      \
        assert_int_equal(deletions, 0);                           \
    } while (0)

RNL_TEST(a_tensor_that_cannot_be_a_buffer_is_refused)
{
    need_cpu();
    REFUSED(from.major = 2, RNL_ERROR_UNSUPPORTED);
    REFUSED(from.major = 0, RNL_ERROR_UNSUPPORTED);
    REFUSED(from.flags = 1, RNL_ERROR_INVALID_ARGUMENT);
    REFUSED(from.t.device_type = CUDA, RNL_ERROR_UNSUPPORTED);
    REFUSED(from.t.device_type = ROCM, RNL_ERROR_UNSUPPORTED);
    REFUSED(from.t.device_type = 99, RNL_ERROR_UNSUPPORTED);
    REFUSED(from.t.bits = 4, RNL_ERROR_UNSUPPORTED);
    REFUSED(from.t.lanes = 0, RNL_ERROR_UNSUPPORTED);
    REFUSED(from.t.ndim = -1, RNL_ERROR_INVALID_ARGUMENT);
    REFUSED(from.t.shape = NULL, RNL_ERROR_INVALID_ARGUMENT);
    REFUSED(shape[1] = -3, RNL_ERROR_INVALID_ARGUMENT);
    REFUSED(from.t.data = NULL, RNL_ERROR_INVALID_ARGUMENT);
    REFUSED(shape[0] = INT64_MAX, RNL_ERROR_OUT_OF_RANGE);
    REFUSED((shape[0] = INT64_MAX, shape[1] = INT64_MAX),
            RNL_ERROR_OUT_OF_RANGE);
    REFUSED(strides[0] = 4, RNL_ERROR_INVALID_ARGUMENT);   // a column cut off
    REFUSED(strides[1] = -1, RNL_ERROR_INVALID_ARGUMENT);  // backwards
    REFUSED((strides[0] = 1, strides[1] = 2), RNL_ERROR_INVALID_ARGUMENT);
    REFUSED((strides[0] = 0), RNL_ERROR_INVALID_ARGUMENT);  // broadcast
    assert_non_null(strstr(rnl_last_error()->message, "axis 0"));
    managed from = make();
    rnl_buffer buffer;
    expect_error(import(NULL, &buffer), RNL_ERROR_INVALID_ARGUMENT, "tensor");
    expect_error(import(&from, NULL), RNL_ERROR_INVALID_ARGUMENT, "out_buffer");
}

RNL_TEST(the_hosts_memory_is_no_tensor_of_a_gpu)
{
    if (suite_is_cpu())
        test_skip("kernels of a cpu reach it");
    REFUSED((void)0, RNL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rnl_last_error()->message, "copy it"));
    REFUSED((from.t.device_type = CUDA, from.t.device_id = 77),
            RNL_ERROR_UNSUPPORTED);
}

RNL_TEST(strides_that_lead_nowhere_do_not_count)
{
    need_cpu();
    managed from = make();
    rnl_buffer buffer = NULL;
    shape[0] = 1, strides[0] = 77;
    expect_ok(import(&from, &buffer));
    expect_ok(rnl_buffer_release(buffer));
    from = make();
    shape[0] = 0, shape[1] = INT64_MAX, strides[0] = 5, from.t.data = NULL;
    expect_ok(import(&from, &buffer));
    assert_int_equal(info_of(buffer).size, 0);
    expect_ok(rnl_buffer_release(buffer));
    from = make();
    from.t.ndim = 0;  // a single element
    expect_ok(import(&from, &buffer));
    assert_int_equal(info_of(buffer).size, 4);
    expect_ok(rnl_buffer_release(buffer));
    assert_int_equal(deletions, 1);
    from = make();
    from.t.strides = NULL;
    expect_ok(import(&from, &buffer));
    assert_int_equal(info_of(buffer).size, 24);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_read_only_tensor_is_taken_when_nobody_writes)
{
    need_cpu();
    managed from = make();
    rnl_buffer buffer = NULL;
    from.flags = 1 | 2;  // read-only, copied
    expect_ok(rnl_buffer_from_dlpack(
        suite_context(), &from, RNL_DLPACK_IMPORT(.read_only = true), &buffer));
    rnl_buffer slice = NULL;
    expect_ok(rnl_buffer_slice(buffer, 8, 8, &slice));
    for (int i = 0; i < 2; i++) {
        managed *again = NULL;
        expect_ok(rnl_buffer_to_dlpack(i ? slice : buffer, NULL, &again));
        assert_int_equal(again->flags, 1);
        again->deleter(again);
    }
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
    assert_int_equal(deletions, 1);
}

RNL_TEST(elements_of_a_tensor_are_aligned)
{
    need_cpu();
    managed from = make(), *made = NULL;
    rnl_buffer buffer = NULL, slice = NULL;
    from.t.byte_offset = 2;
    from.t.shape[0] = 1;
    expect_error(import(&from, &buffer), RNL_ERROR_INVALID_ARGUMENT, "tensor");
    from.t.byte_offset = 4;
    expect_ok(import(&from, &buffer));
    expect_ok(rnl_buffer_slice(buffer, 2, 8, &slice));
    expect_error(
        rnl_buffer_to_dlpack(
            slice, RNL_DLPACK_EXPORT(.element = RNL_ELEMENT_FLOAT32), &made),
        RNL_ERROR_INVALID_ARGUMENT, "options.element");
    expect_ok(rnl_buffer_to_dlpack(
        slice, RNL_DLPACK_EXPORT(.element = RNL_ELEMENT_FLOAT16), &made));
    made->deleter(made);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

// --- To tensors ------------------------------------------------------------

static managed *export(rnl_buffer buffer, const rnl_dlpack_export *options)
{
    managed *made = NULL;
    expect_ok(rnl_buffer_to_dlpack(buffer, options, &made));
    assert_non_null(made);
    assert_int_equal(made->major, 1);
    return made;
}

RNL_TEST(a_buffer_becomes_a_tensor)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create_typed(suite_context(), RNL_ELEMENT_FLOAT32, 6,
                                      NULL, &buffer));
    managed *made = export(buffer, NULL);
    assert_ptr_equal((char *)made->t.data + made->t.byte_offset,
                     info_of(buffer).device_address);
    assert_int_equal(made->t.ndim, 1);
    assert_int_equal(made->t.shape[0], 6);
    assert_int_equal(made->t.strides[0], 1);
    assert_int_equal(made->t.code, FLOAT);
    assert_int_equal(made->t.bits, 32);
    assert_int_equal(made->t.lanes, 1);
    assert_int_equal(made->flags, 0);
    assert_int_equal(made->t.device_type, suite_is_cpu()   ? CPU
                                          : suite_is_hip() ? ROCM
                                                           : CUDA);
    assert_int_equal(made->t.device_id, suite_is_cpu() ? 0 : suite_index());
    made->deleter(made);
    const int64_t axes[] = {3, 1, 2};
    made = export(buffer, RNL_DLPACK_EXPORT(.shape = axes, .axis_count = 3,
                                            .read_only = true));
    assert_int_equal(made->flags, 1);
    assert_int_equal(made->t.ndim, 3);
    assert_memory_equal(made->t.shape, axes, sizeof axes);
    assert_int_equal(made->t.strides[0], 2);
    assert_int_equal(made->t.strides[1], 2);
    assert_int_equal(made->t.strides[2], 1);
    made->deleter(made);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(elements_of_a_tensor_are_the_buffers_or_those_asked_for)
{
    rnl_buffer buffer = suite_new_buffer(10);
    managed *made = export(buffer, NULL);
    assert_int_equal(made->t.code, 1);
    assert_int_equal(made->t.bits, 8);
    assert_int_equal(made->t.shape[0], 10);
    made->deleter(made);
    made = export(buffer, RNL_DLPACK_EXPORT(.element = RNL_ELEMENT_BFLOAT16));
    assert_int_equal(made->t.code, 4);
    assert_int_equal(made->t.bits, 16);
    assert_int_equal(made->t.shape[0], 5);
    made->deleter(made);
    // The product of the lengths beside the 0 is no int64_t.
    const int64_t none = 0, empty[] = {0, INT64_MAX, INT64_MAX};
    made = export(buffer, RNL_DLPACK_EXPORT(.shape = empty, .axis_count = 3));
    assert_int_equal(made->t.strides[0], 1);
    assert_int_equal(made->t.shape[2], INT64_MAX);
    made->deleter(made);
    made = export(buffer, RNL_DLPACK_EXPORT(.shape = &none));
    assert_int_equal(made->t.ndim, 0);
    made->deleter(made);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_tensor_that_the_buffer_does_not_hold_is_refused)
{
    rnl_buffer buffer = suite_new_buffer(24);
    managed *made = NULL;
    const int64_t large[] = {5, 5}, negative[] = {-1, 2};
    const int64_t overflow[] = {INT64_MAX, INT64_MAX};
    int64_t many[65];
    for (int i = 0; i < 65; i++)
        many[i] = 1;
#define SHAPE(axes, n) RNL_DLPACK_EXPORT(.shape = axes, .axis_count = n)
    expect_error(rnl_buffer_to_dlpack(buffer, SHAPE(large, 2), &made),
                 RNL_ERROR_OUT_OF_RANGE, "options.shape");
    expect_error(rnl_buffer_to_dlpack(buffer, SHAPE(negative, 2), &made),
                 RNL_ERROR_INVALID_ARGUMENT, "options.shape");
    expect_error(rnl_buffer_to_dlpack(buffer, SHAPE(overflow, 2), &made),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    expect_error(rnl_buffer_to_dlpack(buffer, SHAPE(many, 65), &made),
                 RNL_ERROR_INVALID_ARGUMENT, "options.axis_count");
    expect_error(rnl_buffer_to_dlpack(buffer, SHAPE(NULL, 1), &made),
                 RNL_ERROR_INVALID_ARGUMENT, "options.shape");
    expect_error(
        rnl_buffer_to_dlpack(
            buffer, RNL_DLPACK_EXPORT(.element = (rnl_element)99), &made),
        RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_buffer_to_dlpack(buffer, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_tensor");
    assert_null(made);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_tensor_keeps_the_memory_of_a_released_buffer)
{
    rnl_buffer buffer = suite_ints(8, 5);
    size_t live = suite_pool_stats(suite_context()).live;
    managed *made = export(buffer, NULL);
    expect_ok(rnl_buffer_release(buffer));
    assert_int_equal(suite_pool_stats(suite_context()).live, live);
    expect_error(rnl_buffer_to_dlpack(buffer, NULL, &made),
                 RNL_ERROR_INVALID_HANDLE, NULL);
    if (suite_is_cpu())
        assert_int_equal(((int *)made->t.data)[7], 5);
    made->deleter(made);
    assert_true(suite_pool_stats(suite_context()).live < live);
}

static void delete_inside(rnl_status status, void *given)
{
    (void)status;
    managed *made = given;
    made->deleter(made);
}

RNL_TEST(a_deleter_may_be_called_inside_a_callback)
{
    rnl_buffer buffer = suite_ints(8, 5);
    managed *made = export(buffer, NULL);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_enqueue_host_function(suite_stream(), delete_inside, made));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

RNL_TEST(a_tensor_comes_back_as_a_buffer)
{
    rnl_buffer buffer = suite_ints(8, 5), back = NULL, slice = NULL;
    expect_ok(rnl_buffer_slice(buffer, 16, 16, &slice));
    managed *made =
        export(slice, RNL_DLPACK_EXPORT(.element = RNL_ELEMENT_INT32));
    expect_ok(import(made, &back));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(slice));
    suite_expect_ints(back, 4, 5);
    expect_ok(rnl_fill_and_wait(suite_stream(), back, 0, 16, 7, 4));
    suite_expect_ints(back, 4, 7);
    expect_ok(rnl_buffer_release(back));
}

RNL_TEST(a_child_process_may_call_the_deleter)
{
    need_cpu();
    rnl_buffer buffer = suite_ints(8, 5);
    managed *made = export(buffer, NULL);
    pid_t child = fork();
    if (child == 0) {
        made->deleter(made);
        _exit(((int *)made->t.data)[0] == 5 ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    suite_expect_ints(buffer, 8, 5);
    made->deleter(made);
    expect_ok(rnl_buffer_release(buffer));
}

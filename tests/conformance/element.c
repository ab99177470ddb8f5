// Elements of buffers: compared with what a kernel's pointers point to.
#include "suite.h"

#include <stdio.h>

static const char *const types[] = {
    "void", "signed char", "unsigned char", "short", "unsigned short", "int",
    "unsigned", "long long", "unsigned long long", "half", "nv_bfloat16",
    "float", "double",
};

enum { ELEMENTS = RNL_ELEMENT_FLOAT64 + 1 };

static bool is_free(int element)
{
    return element <= RNL_ELEMENT_UINT8;
}

static bool is_integer(int element)
{
    return element <= RNL_ELEMENT_UINT64;
}

static bool fits(int buffer, int parameter)
{
    bool only_sign = is_integer(buffer) && is_integer(parameter) &&
                     (buffer + 1) / 2 == (parameter + 1) / 2;
    return is_free(buffer) || is_free(parameter) || buffer == parameter ||
           only_sign;
}

static rnl_buffer make(int element)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create(
        suite_context(), 64,
        RNL_BUFFER_OPTIONS(.element = (rnl_element)element), &buffer));
    return buffer;
}

static rnl_status launch(rnl_function function, rnl_buffer buffer)
{
    return rnl_enqueue_function(suite_stream(), function,
                                RNL_LAUNCH(.grid = {1}, .block = {1}),
                                RNL_ARGS(buffer));
}

static rnl_element element_of(rnl_buffer buffer)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    return info.element;
}

static rnl_function take(const char *type)
{
    char source[256];
    snprintf(source, sizeof source,
             "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
             "extern \"C\" __global__ void take(%s *p) { }\n", type);
    return suite_compile(source, "take");
}

static void expect_element(rnl_function function, rnl_element element)
{
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_int_equal(info.parameters[0].element, element);
}

// On a GPU the types of parameters are not known.
RNL_TEST(each_element_meets_each_pointer)
{
    rnl_buffer buffers[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        buffers[i] = make(i);
    for (int p = 0; p < ELEMENTS; p++) {
        rnl_function function = take(types[p]);
        expect_element(function, suite_is_cpu() ? (rnl_element)p
                                                : RNL_ELEMENT_UNKNOWN);
        for (int b = 0; b < ELEMENTS; b++)
            if (fits(b, p) || !suite_is_cpu())
                expect_ok(launch(function, buffers[b]));
            else
                expect_error(launch(function, buffers[b]),
                             RNL_ERROR_ARGUMENT_MISMATCH, "args");
        expect_ok(rnl_function_release(function));
    }
    for (int i = 0; i < ELEMENTS; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

RNL_TEST(pointers_to_other_things_take_all_buffers)
{
    static const char *const others[] = {
        "const void", "float *", "float4", "bool", "const char"};
    suite_need(RNL_FEATURE_COMPILE);
    rnl_buffer buffer = make(RNL_ELEMENT_FLOAT64);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        rnl_function function = take(others[i]);
        expect_ok(launch(function, buffer));
        expect_ok(rnl_function_release(function));
    }
    rnl_function function = suite_compile(
        "struct pair { int a, b; };\n"
        "extern \"C\" __global__ void take(const pair *p) { }\n", "take");
    expect_ok(launch(function, buffer));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(pointers_are_seen_through)
{
    static const struct {
        const char *parameter;
        rnl_element element;
    } rows[] = {
        {"const float *__restrict__ p", RNL_ELEMENT_FLOAT32},
        {"volatile int *p", RNL_ELEMENT_INT32},
        {"alias *p", RNL_ELEMENT_FLOAT64},
        {"double p[4]", RNL_ELEMENT_FLOAT64},
        {"float (*p)[4]", RNL_ELEMENT_FLOAT32},
        {"int &p", RNL_ELEMENT_INT32},
        {"colour *p", RNL_ELEMENT_UINT16},
        {"wide *p", RNL_ELEMENT_INT32},
        {"float p", RNL_ELEMENT_UNKNOWN},
        {"float **p", RNL_ELEMENT_UNKNOWN},
        {"unseen *p", RNL_ELEMENT_UNKNOWN},
        {"void (*p)(float)", RNL_ELEMENT_UNKNOWN},
    };
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_cpu())
        test_skip("types of parameters are not known on a GPU");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "using alias = double; enum colour : unsigned short {};\n"
                 "enum class wide {}; struct unseen;\n"
                 "extern \"C\" __global__ void take(%s) { }\n",
                 rows[i].parameter);
        rnl_function function = suite_compile(source, "take");
        expect_element(function, rows[i].element);
        expect_ok(rnl_function_release(function));
    }
}

RNL_TEST(the_message_names_the_parameter_and_both_elements)
{
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_cpu())
        test_skip("types of parameters are not known on a GPU");
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void axpy(int n, const float *x) { }\n",
        "axpy");
    rnl_buffer buffer = make(RNL_ELEMENT_FLOAT64);
    expect_error(rnl_enqueue_function(suite_stream(), function,
                                      RNL_LAUNCH(.grid = {1}, .block = {1}),
                                      RNL_ARGS(1, buffer)),
                 RNL_ERROR_ARGUMENT_MISMATCH, "args");
    const char *message = rnl_last_error()->message;
    assert_non_null(strstr(message, "argument 2 of axpy"));
    assert_non_null(strstr(message, "a buffer of double"));
    assert_non_null(strstr(message, "const float *"));
    assert_non_null(strstr(message, "pass a buffer of float"));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

// --- Which buffers have them -----------------------------------------------

RNL_TEST(every_kind_of_buffer_has_elements)
{
    char host[64];
    rnl_buffer ordered = NULL, wrapped = NULL, slice = NULL, plain = NULL;
    const rnl_buffer_options *options =
        RNL_BUFFER_OPTIONS(.element = RNL_ELEMENT_FLOAT64);
    expect_ok(rnl_enqueue_buffer_create(suite_stream(), 64, options,
                                        &ordered));
    assert_int_equal(element_of(ordered), RNL_ELEMENT_FLOAT64);
    expect_ok(rnl_buffer_slice(ordered, 8, 16, &slice));
    assert_int_equal(element_of(slice), RNL_ELEMENT_FLOAT64);
    if (suite_is_cpu()) {
        expect_ok(rnl_buffer_wrap(
            suite_context(), host, sizeof host,
            RNL_WRAP_OPTIONS(.element = RNL_ELEMENT_INT16), &wrapped));
        assert_int_equal(element_of(wrapped), RNL_ELEMENT_INT16);
    }
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(ordered));
    expect_ok(rnl_buffer_release(wrapped));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    // The pool gives the memory, and the object, to the next one.
    expect_ok(rnl_buffer_create(suite_context(), 64, NULL, &plain));
    assert_int_equal(element_of(plain), RNL_ELEMENT_UNKNOWN);
    expect_ok(rnl_buffer_release(plain));
}

RNL_TEST(options_of_older_programs_have_no_element)
{
    rnl_buffer buffer = NULL;
    rnl_buffer_options options = {
        .struct_size = offsetof(rnl_buffer_options, element),
        .element = RNL_ELEMENT_FLOAT64};
    expect_ok(rnl_buffer_create(suite_context(), 64, &options, &buffer));
    assert_int_equal(element_of(buffer), RNL_ELEMENT_UNKNOWN);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(elements_that_do_not_exist_are_refused)
{
    static const int bad[] = {-1, ELEMENTS, 1000};
    char host[64];
    rnl_buffer buffer = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rnl_element element = (rnl_element)bad[i];
        expect_error(rnl_buffer_create(suite_context(), 64,
                                       RNL_BUFFER_OPTIONS(.element = element),
                                       &buffer),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
        expect_error(rnl_enqueue_buffer_create(
                         suite_stream(), 64,
                         RNL_BUFFER_OPTIONS(.element = element), &buffer),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
        expect_error(rnl_buffer_wrap(suite_context(), host, sizeof host,
                                     RNL_WRAP_OPTIONS(.element = element),
                                     &buffer),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
    }
    assert_null(buffer);
}

// --- C functions -----------------------------------------------------------

static rnl_status do_nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

static rnl_status make_native(rnl_element element, rnl_function *out_function)
{
    const rnl_parameter parameter = {RNL_VALUE_POINTER, sizeof(void *),
                                     _Alignof(void *), "float *", element};
    return rnl_function_create_native(
        suite_context(), "nothing", do_nothing,
        RNL_NATIVE_OPTIONS(.parameters = &parameter, .parameter_count = 1),
        out_function);
}

RNL_TEST(c_functions_can_have_elements)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function known = NULL, unknown = NULL;
    rnl_buffer buffer = make(RNL_ELEMENT_FLOAT64);
    expect_ok(make_native(RNL_ELEMENT_FLOAT32, &known));
    expect_ok(make_native(RNL_ELEMENT_UNKNOWN, &unknown));
    expect_element(known, RNL_ELEMENT_FLOAT32);
    expect_error(launch(known, buffer), RNL_ERROR_ARGUMENT_MISMATCH, "args");
    expect_ok(launch(unknown, buffer));
    expect_ok(rnl_function_release(known));
    expect_ok(rnl_function_release(unknown));
    expect_error(make_native((rnl_element)ELEMENTS, &known),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_ok(rnl_buffer_release(buffer));
}

// --- Graphs ----------------------------------------------------------------

RNL_TEST(launches_of_graphs_compare_elements)
{
    suite_need(RNL_FEATURE_GRAPHS);
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = NULL;
    rnl_graph graph = NULL;
    rnl_node node = NULL;
    rnl_buffer right = make(RNL_ELEMENT_FLOAT32);
    rnl_buffer wrong = make(RNL_ELEMENT_FLOAT64);
    expect_ok(make_native(RNL_ELEMENT_FLOAT32, &function));
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    rnl_node_params params = {
        .struct_size = sizeof params, .kind = RNL_NODE_FUNCTION,
        .function = function,
        .launch = RNL_LAUNCH(.grid = {1}, .block = {1}),
        .args = RNL_ARGS(right)};
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START, &params, &node));
    params.args = RNL_ARGS(wrong);
    expect_error(rnl_graph_add_node(graph, RNL_AT_START, &params, &node),
                 RNL_ERROR_ARGUMENT_MISMATCH, NULL);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_buffer_release(right));
    expect_ok(rnl_buffer_release(wrong));
}

// --- Buffers by the count of their elements --------------------------------

RNL_TEST(a_typed_buffer_has_room_for_its_elements)
{
    static const size_t sizes[ELEMENTS] = {0, 1, 1, 2, 2, 4, 4,
                                           8, 8, 2, 2, 4, 8};
    assert_int_equal(rnl_element_size(RNL_ELEMENT_UNKNOWN), 0);
    assert_int_equal(rnl_element_size((rnl_element)ELEMENTS), 0);
    assert_int_equal(rnl_element_size((rnl_element)-1), 0);
    for (int i = 1; i < ELEMENTS; i++) {
        rnl_buffer buffer = NULL;
        rnl_buffer_info info = {.struct_size = sizeof info};
        assert_int_equal(rnl_element_size((rnl_element)i), sizes[i]);
        expect_ok(rnl_buffer_create_typed(
            suite_context(), (rnl_element)i, 100,
            RNL_BUFFER_OPTIONS(.zeroed = true, .label = "typed"), &buffer));
        expect_ok(rnl_buffer_get_info(buffer, &info));
        assert_int_equal(info.size, 100 * sizes[i]);
        assert_int_equal(info.element, i);
        assert_string_equal(info.label, "typed");
        expect_ok(rnl_buffer_release(buffer));
    }
}

RNL_TEST(a_typed_buffer_that_cannot_be_is_refused)
{
    rnl_buffer buffer = NULL;
#define TYPED(element, count, options)                                   \
    rnl_buffer_create_typed(suite_context(), element, count, options, &buffer)
    expect_error(TYPED(RNL_ELEMENT_UNKNOWN, 4, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "element");
    expect_error(TYPED((rnl_element)ELEMENTS, 4, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "element");
    expect_error(TYPED(RNL_ELEMENT_FLOAT32, SIZE_MAX / 4 + 1, NULL),
                 RNL_ERROR_OUT_OF_RANGE, "count");
    expect_error(TYPED(RNL_ELEMENT_FLOAT32, 4,
                       RNL_BUFFER_OPTIONS(.element = RNL_ELEMENT_FLOAT64)),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_buffer_create_typed(suite_context(), RNL_ELEMENT_FLOAT32,
                                         4, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_buffer");
    assert_null(buffer);
    expect_ok(TYPED(RNL_ELEMENT_FLOAT32, 4,
                    RNL_BUFFER_OPTIONS(.element = RNL_ELEMENT_FLOAT32)));
    assert_int_equal(element_of(buffer), RNL_ELEMENT_FLOAT32);
    expect_ok(rnl_buffer_release(buffer));
}

// One template, two kernels: the instances to compile are named by C++
// expressions, and the same expressions get them from the module.
#include <stdio.h>

#include <runnel/runnel.h>

#include "check.h"

static const char source[] =
    "template <typename T, int POWER>\n"
    "__global__ void raise(T *vector, int size)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i >= size)\n"
    "        return;\n"
    "    T result = 1;\n"
    "    for (int n = 0; n < POWER; n++)\n"
    "        result *= vector[i];\n"
    "    vector[i] = result;\n"
    "}\n";

static const char *const instances[] = {"raise<int, 2>", "raise<double, 3>"};

int main(void)
{
    rnl_context context;
    rnl_stream stream;
    check(rnl_context_open(NULL, 0, NULL, &context));
    check(rnl_context_default_stream(context, &stream));

    rnl_module module;
    rnl_function square, cube;
    check(rnl_module_compile(context, source,
                             RNL_MODULE_OPTIONS(.name = "raise.cu",
                                                .name_expressions = instances,
                                                .name_expression_count = 2),
                             &module));
    check(rnl_module_function(module, "raise<int, 2>", &square));
    check(rnl_module_function(module, "raise<double, 3>", &cube));

    int numbers[] = {1, 2, 3, 4};
    double reals[] = {0.5, 1.0, 1.5, 2.0};
    rnl_buffer ints, doubles;
    check(rnl_buffer_create(context, sizeof numbers, NULL, &ints));
    check(rnl_buffer_create(context, sizeof reals, NULL, &doubles));
    check(rnl_enqueue_copy_to_buffer(stream, ints, 0, numbers,
                                     sizeof numbers));
    check(rnl_enqueue_copy_to_buffer(stream, doubles, 0, reals,
                                     sizeof reals));

    check(rnl_enqueue_function(stream, square,
                               RNL_LAUNCH(.grid = {1}, .block = {4}),
                               RNL_ARGS(ints, 4)));
    check(rnl_enqueue_function(stream, cube,
                               RNL_LAUNCH(.grid = {1}, .block = {4}),
                               RNL_ARGS(doubles, 4)));

    check(rnl_copy_from_buffer_and_wait(stream, numbers, ints, 0,
                                        sizeof numbers));
    check(rnl_copy_from_buffer_and_wait(stream, reals, doubles, 0,
                                        sizeof reals));
    for (int i = 0; i < 4; i++)
        printf("%d %.3f\n", numbers[i], reals[i]);

    check(rnl_buffer_release(doubles));
    check(rnl_buffer_release(ints));
    check(rnl_function_release(cube));
    check(rnl_function_release(square));
    check(rnl_module_release(module));
    check(rnl_context_release(context));
    return 0;
}

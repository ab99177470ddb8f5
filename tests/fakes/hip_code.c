// Code objects as the real compiler of this machine makes them, if there is
// one: what Runnel reads in them, and that no damage is believed.
#include "test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cudalike/driver/image.h"
#include "backends/hip/code_object.h"
#include "base/alloc.h"

struct compiler {
#define SYMBOL(name, vendor, type, parameters) type (*name) parameters;
#include "compiler/hiprtc_table.h"
#undef SYMBOL
};

static const char source[] =
    "struct pair { int a; char b[9]; };\n"
    "extern \"C\" __global__ void all(float *to, const float *from, float x,\n"
    "                               char c, double d, pair p) {\n"
    "    to[threadIdx.x] = from[0] * x + c + d + p.a + p.b[0];\n"
    "}\n"
    "extern \"C\" __global__ void none() {}\n"
    "__constant__ float factors[4];\n"
    "namespace deep {\n"
    "__device__ int counter;\n"
    "__global__ void inside(int *p) { *p = counter + factors[1]; }\n"
    "}\n"
    "struct nothing { int none[0]; };\n"
    "extern \"C\" __global__ void hollow(nothing n, int *p) { *p = 1; }\n";

static struct compiler compiler;

static void load(void)
{
    static const char *const names[] = {
        "libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5",
        "libamdhip64.so.6", "libamdhip64.so.5"};
    void *library = NULL;
    // hiprtc crashes without it.
    if (!dlopen("libamd_comgr.so.3", RTLD_NOW | RTLD_LOCAL) &&
        !dlopen("libamd_comgr.so.2", RTLD_NOW | RTLD_LOCAL))
        test_skip("there is no libamd_comgr");
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        test_skip("there is no hiprtc");
#define SYMBOL(name, vendor, type, parameters)             \
    *(void **)&compiler.name = dlsym(library, #vendor);    \
    assert_non_null(*(void **)&compiler.name);
#include "compiler/hiprtc_table.h"
#undef SYMBOL
}

static void *compile(const char *option, size_t *out_size)
{
    void *program;
    load();
    assert_int_equal(compiler.create(&program, source, "all.cu", 0, NULL,
                                     NULL), 0);
    assert_int_equal(compiler.compile(program, 1, &option), 0);
    assert_int_equal(compiler.code_size(program, out_size), 0);
    void *code = malloc(*out_size);
    assert_non_null(code);
    assert_int_equal(compiler.code(program, code), 0);
    assert_int_equal(compiler.destroy(&program), 0);
    return code;
}

static void expect_parameter(const struct image *image,
                             const struct image_item *kernel, size_t index,
                             rnl_value_kind kind, uint32_t size)
{
    rnl_parameter parameter = image_parameter(image, kernel, index);
    assert_int_equal(parameter.kind, kind);
    assert_int_equal(parameter.size, size);
}

static void expect_kernels(const char *option)
{
    static const struct image_vendor amd = {.machine = 224};
    static const uint32_t sizes[] = {8, 8, 4, 1, 8, 16};
    struct image_maker maker = {.failed = false};
    struct image image;
    struct image_item kernel;
    enum image_form form;
    void *table;
    size_t size, table_size;
    void *code = compile(option, &size);
    assert_null(image_vendor_fault(&amd, code, size, &form));
    code_object_read(code, size, &maker);
    assert_true(image_finish(&maker, NULL, 0, &table, &table_size));
    assert_null(image_open(table, table_size, &image));
    assert_true(image_find(&image, IMAGE_KERNEL, "all", &kernel));
    assert_true(kernel.typed);
    assert_int_equal(kernel.parameter_count, 6);
    for (size_t i = 0; i < 6; i++)
        expect_parameter(&image, &kernel, i,
                         i < 2    ? RNL_VALUE_POINTER
                         : i < 5 ? RNL_VALUE_UNKNOWN
                                 : RNL_VALUE_STRUCT,
                         sizes[i]);
    assert_true(image_find(&image, IMAGE_KERNEL, "none", &kernel));
    assert_true(kernel.typed);
    assert_int_equal(kernel.parameter_count, 0);
    // A parameter without bytes: nothing is told of the kernel's parameters.
    assert_true(image_find(&image, IMAGE_KERNEL, "hollow", &kernel));
    assert_false(kernel.typed);
    assert_true(image_find(&image, IMAGE_KERNEL, "deep::inside", &kernel));
    assert_string_equal(kernel.symbol, "_ZN4deep6insideEPi");
    assert_true(image_find(&image, IMAGE_VARIABLE, "factors", &kernel));
    assert_true(image_find(&image, IMAGE_VARIABLE, "deep::counter", &kernel));
    assert_string_equal(kernel.symbol, "_ZN4deep7counterE");
    assert_false(image_find(&image, IMAGE_VARIABLE, "none.kd", &kernel));
    mem_release(table, table_size);
    free(code);
}

RNL_TEST(kernels_of_real_code_objects_are_described)
{
    expect_kernels("--gpu-architecture=gfx90a");
    expect_kernels("--gpu-architecture=gfx1030");
}

// Every byte in turn is wrong, and every end is early.
RNL_TEST(damaged_code_objects_are_read_safely)
{
    static const struct image_vendor amd = {.machine = 224};
    enum image_form form;
    size_t size;
    unsigned char *code = compile("--gpu-architecture=gfx90a", &size);
    for (size_t i = 0; i < 2 * size; i++) {
        struct image_maker maker = {.failed = false};
        size_t length = i < size ? size : i - size;
        // A block of its own, so that checkers see what is read behind it.
        unsigned char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, code, length);
        if (i < size)
            copy[i] ^= (unsigned char)(0x80 | (i * 7 & 0x7f));
        if (!image_vendor_fault(&amd, copy, length, &form) &&
            form == IMAGE_ELF)
            code_object_read(copy, length, &maker);
        image_abandon(&maker);
        free(copy);
    }
    free(code);
}

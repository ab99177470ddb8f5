// What is read of a text of PTX, and what a text that is none does.
#include "backends/cuda/ptx.h"
#include "base/alloc.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct image image;
static void *table;
static size_t table_size;

static void read_text(const char *text)
{
    struct image_maker maker = {0};
    mem_release(table, table_size);
    ptx_read(text, &maker);
    assert_true(image_finish(&maker, NULL, 0, &table, &table_size));
    assert_null(image_open(table, table_size, &image));
}

static void end(void)
{
    mem_release(table, table_size);
    table = NULL;
    assert_int_equal(mem_held(), 0);
}

static struct image_item kernel(const char *name)
{
    struct image_item item;
    assert_true(image_find(&image, IMAGE_KERNEL, name, &item));
    return item;
}

static size_t count(void)
{
    struct image_item item;
    size_t items = 0;
    while (image_item(&image, items, &item))
        items++;
    return items;
}

static void expect_parameter(const char *name, size_t index,
                             rnl_value_kind kind, uint32_t size,
                             uint32_t alignment)
{
    struct image_item item = kernel(name);
    assert_true(item.typed);
    assert_true(index < item.parameter_count);
    rnl_parameter parameter = image_parameter(&image, &item, index);
    assert_int_equal(parameter.kind, kind);
    assert_int_equal(parameter.size, size);
    assert_int_equal(parameter.alignment, alignment);
}

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

RNL_TEST(parameters_have_kinds_and_sizes)
{
    read_text(HEAD
              ".visible .entry all(\n"
              "\t.param .u64 .ptr .global .align 4 all_param_0,\n"
              "\t.param .u32 all_param_1,\n"
              "\t.param .f64 all_param_2,\n"
              "\t.param .align 8 .b8 all_param_3[16],\n"
              "\t.param .u64 all_param_4,\n"
              "\t.param .u8 all_param_5,\n"
              "\t.param .u16 all_param_6,\n"
              "\t.param .f32 all_param_7,\n"
              "\t.param .align 2 .b8 all_param_8[2]\n"
              ")\n{\n\tret;\n}\n");
    assert_int_equal(kernel("all").parameter_count, 9);
    expect_parameter("all", 0, RNL_VALUE_POINTER, 8, 8);
    expect_parameter("all", 1, RNL_VALUE_INTEGER, 4, 4);
    expect_parameter("all", 2, RNL_VALUE_FLOAT, 8, 8);
    expect_parameter("all", 3, RNL_VALUE_STRUCT, 16, 8);
    // Nothing tells an integer of eight bytes from a pointer.
    expect_parameter("all", 4, RNL_VALUE_UNKNOWN, 8, 8);
    expect_parameter("all", 5, RNL_VALUE_INTEGER, 1, 1);
    expect_parameter("all", 6, RNL_VALUE_INTEGER, 2, 2);
    expect_parameter("all", 7, RNL_VALUE_FLOAT, 4, 4);
    expect_parameter("all", 8, RNL_VALUE_STRUCT, 2, 2);
    end();
}

RNL_TEST(kernels_in_all_forms_are_found)
{
    read_text(HEAD
              ".extern .func  (.param .b32 func_retval0) vprintf\n"
              "(\n\t.param .b64 vprintf_param_0\n)\n;\n"
              "\t// .globl\t_Z5scalePfi\n"
              ".visible .entry _Z5scalePfi(.param .u64 a,.param .u32 b)\n"
              ".maxntid 128, 1, 1\n.minnctapersm 2\n"
              "{\n\t{ // callseq 0, 0\n\t.param .b64 param0;\n\t}\n"
              "\t.shared .align 4 .b8 here[400];\n\tret;\n}\n"
              ".entry none()\n{ ret; }\n"
              ".weak .entry bare\n{ ret; }\n"
              ".func (.param .b32 r) helper(.param .b32 x) { ret; }\n"
              ".visible .entry last(.param .u32 a /* ) */, // }\n"
              " .param .u32 b) { ret; }\n");
    assert_int_equal(count(), 4);
    assert_string_equal(kernel("scale").symbol, "_Z5scalePfi");
    assert_int_equal(kernel("scale").parameter_count, 2);
    assert_int_equal(kernel("none").parameter_count, 0);
    assert_true(kernel("none").typed);
    assert_int_equal(kernel("bare").parameter_count, 0);
    assert_int_equal(kernel("last").parameter_count, 2);
    end();
}

RNL_TEST(variables_are_found)
{
    struct image_item item;
    read_text(HEAD
              ".global .align 4 .u32 counter = 5;\n"
              ".visible .const .align 4 .b8 factors[12] = {0, 0, 192, 63};\n"
              ".global .align 4 .u32 _ZN2ns5innerE;\n"
              ".global .attribute(.managed) .align 4 .u32 shared_one;\n"
              ".global .align 1 .b8 $str[4] = {104, 105, 10};\n"
              ".global .align 1 .b8 __unnamed_1[2] = {1, 2};\n"
              ".extern .global .align 4 .u32 elsewhere;\n"
              ".extern .shared .align 16 .b8 dynamic[];\n"
              ".visible .entry f() { ld.global.u32 %r1, [counter]; }\n");
    assert_true(image_find(&image, IMAGE_VARIABLE, "counter", &item));
    assert_true(image_find(&image, IMAGE_VARIABLE, "factors", &item));
    assert_true(image_find(&image, IMAGE_VARIABLE, "shared_one", &item));
    assert_true(image_find(&image, IMAGE_VARIABLE, "ns::inner", &item));
    assert_string_equal(item.symbol, "_ZN2ns5innerE");
    kernel("f");
    assert_int_equal(count(), 5);
    end();
}

RNL_TEST(strings_and_sections_hide_what_is_in_them)
{
    read_text(HEAD
              ".file\t1 \"/tmp/.entry \\\" { x.cu\"\n"
              ".visible .entry f(.param .u32 a) { ret; }\n"
              ".section\t.debug_abbrev\n{\n.b8 1\n.global\n.entry g()\n}\n");
    assert_int_equal(count(), 1);
    kernel("f");
    end();
}

RNL_TEST(a_type_that_is_unknown_leaves_the_kernel_untyped)
{
    read_text(".entry f(.param .texref a) {}\n"
              ".entry g(.param .b8 a[99999999999]) {}\n"
              ".entry h(.param .u32 a) {}\n");
    assert_false(kernel("f").typed);
    assert_false(kernel("g").typed);
    assert_true(kernel("h").typed);
    end();
}

RNL_TEST(text_that_is_cut_is_survived)
{
    static const char text[] =
        HEAD "/* c */ .global .attribute(.managed) .u32 x = {1, \"s\\\"\"};\n"
             ".visible .entry _Z5scalePfi(.param .align 8 .b8 a[16],\n"
             ".param .u64 .ptr .align 4 b) .maxntid 1 { // }\n ret; }\n";
    for (size_t size = 0; size < sizeof text; size++) {
        char *cut = calloc(size + 1, 1);
        assert_non_null(cut);
        memcpy(cut, text, size);
        read_text(cut);
        free(cut);
    }
    end();
}

RNL_TEST(brackets_without_end_are_survived)
{
    static const char *const texts[] = {
        ".entry", ".entry (", ".entry f(", ".entry f(.param", ".entry f((((",
        ".entry f(.param .u32 a,,,)", ".global", ".global .attribute(",
        ".global ;", "}}}}{", ".const .align", ".entry f(.param .b8 a[",
        ".entry f(.param .b8 a[])", ".entry 9", "\"", "/*", "\\", ".entry $"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        read_text(texts[i]);
    end();
}

// --- Waiting -----------------------------------------------------------------

static void expect_waits(const char *text, const char *expected)
{
    struct text out = {0};
    assert_int_equal(ptx_wait_first(text, &out), expected != NULL);
    assert_string_equal(text_get(&out), expected ? expected : "");
    text_finish(&out);
    assert_int_equal(mem_held(), 0);
}

#define WAIT "\n\tgriddepcontrol.wait;"

RNL_TEST(kernels_wait_before_all_else)
{
    expect_waits(HEAD, HEAD);
    expect_waits(HEAD ".visible .entry one(\n\t.param .u64 a\n)\n"
                 ".maxntid 256, 1, 1 // { not here\n"
                 "{\n\t.reg .b32 %r<2>;\n\t{ ret; }\n}\n"
                 ".func none() { ret; }\n.entry two(){ret;}",
                 HEAD ".visible .entry one(\n\t.param .u64 a\n)\n"
                 ".maxntid 256, 1, 1 // { not here\n"
                 "{" WAIT "\n\t.reg .b32 %r<2>;\n\t{ ret; }\n}\n"
                 ".func none() { ret; }\n.entry two(){" WAIT "ret;}");
    expect_waits(HEAD ".entry a() .pragma \"nounroll\"; { ret; }",
                 HEAD ".entry a() .pragma \"nounroll\"; {" WAIT " ret; }");
    // Only declared.
    expect_waits(HEAD ".extern .entry a();\n.func f() { ret; }",
                 HEAD ".extern .entry a();\n.func f() { ret; }");
}

RNL_TEST(kernels_that_must_not_or_need_not_wait_are_left)
{
    expect_waits(HEAD ".const .align 4 .b8 c[4];\n.entry a() { ret; }", NULL);
    expect_waits(HEAD ".entry a() { .const .b32 c; ret; }", NULL);
    expect_waits(HEAD ".entry a() { griddepcontrol.launch_dependents; ret; }",
                 NULL);
    expect_waits(HEAD ".entry a() { griddepcontrol.wait; ret; }", NULL);
    expect_waits(HEAD ".entry a() { tex.2d.v4.f32.s32 {%f1}, [%rd1]; }", NULL);
    expect_waits(HEAD ".entry a() { tld4.r.2d.v4.f32.f32 {%f1}, [%rd1]; }",
                 NULL);
    expect_waits(HEAD ".global .texref t;\n.entry a() { ret; }", NULL);
    expect_waits(HEAD ".entry a() { call.uni (r), vprintf, (x); ret; }", NULL);
    expect_waits(HEAD ".entry a() .reqnctapercluster 2 { ret; }", NULL);
}

RNL_TEST(a_cut_text_waits_where_it_can)
{
    static const char text[] =
        HEAD ".visible .entry a(.param .u64 b) { ret; } // \"\n/* {";
    char cut[sizeof text];
    for (size_t length = 0; length < sizeof text; length++) {
        struct text out = {0};
        memcpy(cut, text, length);
        cut[length] = '\0';
        bool whole = strchr(cut, '{') != NULL;
        assert_true(ptx_wait_first(cut, &out));
        assert_int_equal(out.length,
                         length + (whole ? sizeof WAIT - 1 : 0));
        text_finish(&out);
    }
}

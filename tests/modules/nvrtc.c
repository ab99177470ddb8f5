// NVRTC: finding it, its messages, and, where it is installed, all that it
// makes. No device is needed.
#include "backends/cuda/compile.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cudalike/driver/image.h"
#include "core/module/dump.h"
#include "core/object/config.h"
#include "folder.h"
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cuda_target target = {9, 0, 13000, NULL};

static void need_nvrtc(void)
{
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
    test_skip("MemorySanitizer does not see what NVRTC writes");
#endif
#endif
    struct nvrtc_place place;
    if (nvrtc_find(target.driver_version, NULL, &place) != RNL_OK)
        test_skip("no NVRTC");
}

// The environment is read once in a process.
static void set_nvrtc(const char *value)
{
    setenv("RUNNEL_NVRTC", value, 1);
    const char *read = config_get()->nvrtc;
    if (!read || strcmp(read, value) != 0)
        test_skip("only in a process of its own");
}

static rnl_dump dump;  // what compile_with asks for

static rnl_status compile_with(const char *text, rnl_module_options options,
                               struct compiled_binary *binary)
{
    struct source source = {text, &options, dump};
    options.struct_size = sizeof options;
    if (!options.name)
        options.name = "kernel.cu";
    if (!options.timeout_ns)
        options.timeout_ns = 20 * UINT64_C(1000000000);
    *binary = (struct compiled_binary){0};
    return cuda_compile(&target, &source, binary);
}

static void drop(struct compiled_binary *binary)
{
    mem_release(binary->data, binary->size);
    text_release(binary->log);
    dump_finish(binary);
    dump = (rnl_dump){0};
    assert_int_equal(mem_held(), 0);
}

static void expect_in(const char *text, const char *part)
{
    if (!text || !strstr(text, part)) {
        print_error("'%s' is not in: %s\n", part, text ? text : "(nothing)");
        _fail(__FILE__, __LINE__);
    }
}

// --- Finding -----------------------------------------------------------------

RNL_TEST(off_hides_it)
{
    struct nvrtc_place place;
    char identity[256];
    set_nvrtc("off");
    assert_status(nvrtc_find(13000, NULL, &place),
                  RNL_ERROR_COMPILER_UNAVAILABLE);
    expect_in(rnl_last_error()->message, "RUNNEL_NVRTC=off");
    assert_status(cuda_identity(&target, identity, sizeof identity),
                  RNL_ERROR_COMPILER_UNAVAILABLE);
    struct compiled_binary binary;
    assert_status(compile_with("", (rnl_module_options){0}, &binary),
                  RNL_ERROR_COMPILER_UNAVAILABLE);
}

RNL_TEST(a_file_that_is_not_there_is_named)
{
    struct nvrtc_place place;
    set_nvrtc("/nonexistent/libnvrtc.so.99");
    assert_status(nvrtc_find(13000, NULL, &place),
                  RNL_ERROR_COMPILER_UNAVAILABLE);
    expect_in(rnl_last_error()->message, "/nonexistent/libnvrtc.so.99");
}

RNL_TEST(a_file_that_is_no_library_is_refused)
{
    struct compiled_binary binary;
    set_nvrtc("/proc/self/exe");
    assert_status(compile_with("", (rnl_module_options){0}, &binary),
                  RNL_ERROR_COMPILER_UNAVAILABLE);
    expect_in(rnl_last_error()->message, "/proc/self/exe");
}

RNL_TEST(a_library_without_its_symbols_is_refused)
{
    struct compiled_binary binary;
    set_nvrtc("libm.so.6");
    assert_status(compile_with("", (rnl_module_options){0}, &binary),
                  RNL_ERROR_COMPILER_UNAVAILABLE);
    expect_in(rnl_last_error()->message, "nvrtc");
}

RNL_TEST(the_folders_of_the_loader_are_searched)
{
    char folder[] = "/tmp/runnel-nvrtc-XXXXXX", path[64];
    struct nvrtc_place place;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libnvrtc.so.12", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    setenv("LD_LIBRARY_PATH", folder, 1);
    rnl_status status = nvrtc_find(12080, NULL, &place);
    unsetenv("LD_LIBRARY_PATH");
    char found[sizeof place.path];
    snprintf(found, sizeof found, "%s", place.path);
    // Beside the driver, too.
    char driver[64];
    snprintf(driver, sizeof driver, "%s/libcuda.so.1", folder);
    rnl_status beside = nvrtc_find(12080, driver, &place);
    unlink(path);
    rmdir(folder);
    assert_ok(status);
    assert_ok(beside);
    assert_string_equal(found, path);
}

RNL_TEST(targets_are_chosen_by_what_is_known)
{
    static const struct {
        int major, minor;
        const char *word;
    } rows[] = {
        {9, 0, "compute_90"}, {9, 5, "compute_90"}, {8, 6, "compute_80"},
        {8, 0, "compute_80"}, {12, 0, "compute_90"}, {7, 0, NULL},
    };
    struct nvrtc nvrtc = {
        .major = 12, .known = {75, 80, 90}, .known_count = 3};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char word[32];
        rnl_status status =
            nvrtc_target(&nvrtc, rows[i].major, rows[i].minor, word);
        assert_int_equal(status, rows[i].word ? RNL_OK
                                              : RNL_ERROR_COMPILER_UNAVAILABLE);
        if (rows[i].word)
            assert_string_equal(word, rows[i].word);
    }
    expect_in(rnl_last_error()->message, "7.5, 8.0, 9.0");
}

// --- Messages ----------------------------------------------------------------

static void expect_translated(const char *log, const char *expected)
{
    struct text text = {0};
    nvrtc_translate(log, &text);
    assert_string_equal(text_get(&text), expected);
    text_finish(&text);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(messages_get_their_column)
{
    expect_translated(
        "waves.cu(3): error: identifier \"x\" is undefined\n"
        "      p[1] = x;\n"
        "             ^\n\n"
        "two.h(20): warning #1105-D: mind (3) the gap\n"
        "  #warning\n"
        "  \t ^ \n\n"
        "1 error detected in the compilation of \"waves.cu\".\n",
        "waves.cu:3:12: error: identifier \"x\" is undefined\n"
        "      p[1] = x;\n"
        "             ^\n\n"
        "two.h:20:3: warning #1105-D: mind (3) the gap\n"
        "  #warning\n"
        "  \t ^ \n\n"
        "1 error detected in the compilation of \"waves.cu\".\n");
}

RNL_TEST(messages_without_a_caret_have_a_line)
{
    expect_translated("a(1).cu(3): error: one\n\n"
                      "b.cu(4): catastrophic error: two\n"
                      "b.cu(5): error: three\n  ^",
                      "a(1).cu:3: error: one\n\n"
                      "b.cu:4: catastrophic error: two\n"
                      "b.cu:5:1: error: three\n  ^");
}

RNL_TEST(what_is_no_message_stays)
{
    static const char *const texts[] = {
        "", "\n", "nothing", "f(3): maybe\n", "(3): error: x", "x(): error: y",
        "x(3) : error: y", "x(3", "x(", "   ^\n", "\n\n\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_translated(texts[i], texts[i]);
}

// --- The real one ------------------------------------------------------------

static const char source[] =
    "__device__ int counter = 5;\n"
    "namespace a { __device__ int inner;\n"
    "__global__ void kernel(int *p) { *p = inner; } }\n"
    "struct pair { int a; double b; };\n"
    "extern \"C\" __global__ void all(float *p, int n, double d, pair s,\n"
    "                                bool b) { *p = n + d + s.a + b; }\n"
    "__global__ void scale(float *p, int n) { p[n] = counter; }\n"
    "template <int N> __global__ void put(int *p) { *p = N; }\n"
    "static __global__ void hidden(int *p) { *p = 3; }\n";

RNL_TEST(source_becomes_an_image)
{
    static const char *const expressions[] = {"put<7>", "hidden", "a::kernel",
                                              "&a::inner"};
    struct compiled_binary binary;
    struct image image;
    struct image_item item;
    enum image_form form;
    const struct image_vendor vendor = {190, 0xBA55ED50, ".version"};
    need_nvrtc();
    assert_ok(compile_with(source,
                           (rnl_module_options){
                               .name_expressions = expressions,
                               .name_expression_count = 4}, &binary));
    assert_null(binary.log);
    assert_null(image_open(binary.data, binary.size, &image));
    assert_null(image_vendor_fault(&vendor, image.vendor, image.vendor_size,
                                   &form));
    assert_int_equal(form, IMAGE_ELF);
    assert_true(image_find(&image, IMAGE_KERNEL, "all", &item));
    assert_int_equal(item.parameter_count, 5);
    static const rnl_value_kind kinds[] = {
        RNL_VALUE_POINTER, RNL_VALUE_INTEGER, RNL_VALUE_FLOAT,
        RNL_VALUE_STRUCT, RNL_VALUE_INTEGER};
    static const uint32_t sizes[] = {8, 4, 8, 16, 1};
    for (size_t i = 0; i < 5; i++) {
        rnl_parameter parameter = image_parameter(&image, &item, i);
        if (parameter.kind != RNL_VALUE_UNKNOWN)
            assert_int_equal(parameter.kind, kinds[i]);
        assert_int_equal(parameter.size, sizes[i]);
    }
    static const char *const kernels[][2] = {
        {"scale", "_Z5scalePfi"},   {"a::kernel", "_ZN1a6kernelEPi"},
        {"put<7>", "_Z3putILi7EEvPi"}, {"hidden", "_Z6hiddenPi"}};
    for (size_t i = 0; i < 4; i++) {
        assert_true(image_find(&image, IMAGE_KERNEL, kernels[i][0], &item));
        assert_string_equal(item.symbol, kernels[i][1]);
    }
    assert_true(image_find(&image, IMAGE_VARIABLE, "counter", &item));
    assert_true(image_find(&image, IMAGE_VARIABLE, "&a::inner", &item));
    assert_string_equal(item.symbol, "_ZN1a5innerE");
    drop(&binary);
}

RNL_TEST(a_device_newer_than_nvrtc_gets_assembly)
{
    struct compiled_binary binary;
    struct image image;
    struct cuda_target kept = target;
    need_nvrtc();
    target.major = 99;
    rnl_status status =
        compile_with(source, (rnl_module_options){0}, &binary);
    target = kept;
    assert_ok(status);
    assert_null(image_open(binary.data, binary.size, &image));
    expect_in(image.vendor, ".target sm_");
    drop(&binary);
}

RNL_TEST(a_target_that_is_asked_for_is_taken)
{
    static const char *const rows[][2] = {
        {"-arch=compute_80", NULL}, {"--gpu-architecture", "compute_80"}};
    need_nvrtc();
    for (size_t i = 0; i < 2; i++) {
        struct compiled_binary binary;
        struct image image;
        assert_ok(compile_with(source,
                               (rnl_module_options){
                                   .options = rows[i],
                                   .option_count = i + 1}, &binary));
        assert_null(image_open(binary.data, binary.size, &image));
        expect_in(image.vendor, ".target sm_80");
        drop(&binary);
    }
}

RNL_TEST(the_toolkits_headers_are_found)
{
    struct compiled_binary binary;
    struct nvrtc_place place;
    need_nvrtc();
    assert_ok(nvrtc_find(target.driver_version, NULL, &place));
    if (!place.include[0])
        test_skip("no headers");
    assert_ok(compile_with("#include <cuda_fp16.h>\n"
                           "#include <cooperative_groups.h>\n"
                           "extern \"C\" __global__ void f(__half *p)\n"
                           "{ cooperative_groups::this_grid().sync();\n"
                           "  *p = 1; }\n",
                           (rnl_module_options){0}, &binary));
    drop(&binary);
}

RNL_TEST(an_error_is_told_as_by_other_compilers)
{
    struct compiled_binary binary;
    need_nvrtc();
    assert_status(compile_with("extern \"C\" __global__ void f(int *p) {\n"
                               "    p[0] = 1;\n"
                               "    p[1] = undeclared_thing;\n"
                               "}\n",
                               (rnl_module_options){.name = "waves.cu"},
                               &binary),
                  RNL_ERROR_COMPILE_FAILED);
    const rnl_error *error = rnl_last_error();
    expect_in(error->message, "the kernel source does not compile: "
                              "waves.cu:3:12: error: ");
    expect_in(error->log, "waves.cu:3:12");
    expect_in(error->log, "p[1] = undeclared_thing;");
    expect_in(error->native_text, "NVRTC_ERROR_COMPILATION");
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(warnings_are_in_the_log)
{
    struct compiled_binary binary;
    need_nvrtc();
    assert_ok(compile_with("#warning mind the gap\n", (rnl_module_options){0},
                           &binary));
    expect_in(binary.log, "kernel.cu:1:");
    expect_in(binary.log, "mind the gap");
    drop(&binary);
}

RNL_TEST(options_that_are_no_nvrtc_options_are_refused)
{
    // The core has refused before what is not in its table of options.
    static const char *const rows[] = {"--use_slow_math", "-arch=sm_1"};
    struct compiled_binary binary;
    need_nvrtc();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_status(compile_with(source,
                                   (rnl_module_options){
                                       .options = &rows[i],
                                       .option_count = 1}, &binary),
                      RNL_ERROR_INVALID_ARGUMENT);
        if (i == 0)
            expect_in(rnl_last_error()->message, rows[i]);
        assert_null(binary.data);
        assert_int_equal(mem_held(), 0);
    }
}

RNL_TEST(headers_and_defines_reach_nvrtc)
{
    static const char *const options[] = {"-DNAME=answer", "-std=c++17"};
    static const rnl_header headers[] = {
        {"two.h", "#pragma once\n#define TWO 2\n"},
        {"more/three.h", "#include \"two.h\"\nenum { THREE = TWO + 1 };\n"}};
    struct compiled_binary binary;
    struct image image;
    struct image_item item;
    need_nvrtc();
    assert_ok(compile_with("#include \"two.h\"\n#include <more/three.h>\n"
                           "extern \"C\" __global__ void NAME(int *p)\n"
                           "{ *p = THREE; }\n",
                           (rnl_module_options){.options = options,
                                                .option_count = 2,
                                                .headers = headers,
                                                .header_count = 2}, &binary));
    assert_null(image_open(binary.data, binary.size, &image));
    assert_true(image_find(&image, IMAGE_KERNEL, "answer", &item));
    drop(&binary);
}

// --- Dumps -----------------------------------------------------------------

RNL_TEST(the_ptx_is_dumped)
{
    struct compiled_binary binary;
    need_nvrtc();
    dump.kinds = RNL_DUMP_ASSEMBLY;
    assert_ok(compile_with(source, (rnl_module_options){0}, &binary));
    assert_non_null(binary.dumped);
    assert_null(binary.dumped->next);
    assert_string_equal(binary.dumped->name, "ptx");
    assert_int_equal(binary.dumped->size, strlen(binary.dumped->text));
    expect_in(binary.dumped->text, ".entry _Z5scalePfi");
    drop(&binary);
}

RNL_TEST(nvrtc_has_no_ir)
{
    struct compiled_binary binary;
    dump.kinds = RNL_DUMP_IR | RNL_DUMP_ASSEMBLY;
    assert_status(compile_with(source, (rnl_module_options){0}, &binary),
                  RNL_ERROR_UNSUPPORTED);
    assert_string_equal(rnl_last_error()->parameter, "options.dump.kinds");
    drop(&binary);
}

// The disassembler is a script, alone in PATH but for the shell's programs.
static void disassemble_by(const char *script)
{
    char path[PATH_MAX + 64];
    need_nvrtc();
    test_remove("tools");
    mkdir(test_path("tools"), 0700);
    if (script)
        test_script("tools/nvdisasm", script);
    snprintf(path, sizeof path, "relative:%s:/bin:/usr/bin",
             test_path("tools"));
    setenv("PATH", path, 1);
    setenv("CUDA_PATH", "/nonexistent", 1);
    unsetenv("CUDA_HOME");
    dump.kinds = RNL_DUMP_MACHINE;
}

RNL_TEST(machine_code_is_what_the_disassembler_writes)
{
    struct compiled_binary binary;
    disassemble_by("#!/bin/sh\necho \"option $1\"; "
                   "head -c 4 $2 | tail -c 3\n");
    assert_ok(compile_with(source, (rnl_module_options){0}, &binary));
    assert_non_null(binary.dumped);
    assert_string_equal(binary.dumped->name, "sass");
    assert_string_equal(binary.dumped->text, "option -c\nELF");
    drop(&binary);
}

RNL_TEST(a_disassembler_that_fails_is_told)
{
    static const char *const rows[][2] = {
        {"#!/bin/sh\necho 'error: sm_999 is unknown'; exit 3\n",
         "failed with exit code 3: error: sm_999 is unknown"},
        {"#!/bin/sh\nkill -9 $$\n", "was killed by signal 9"},
        {"#!/bin/sh\nsleep 100\n", "longer than the time limit"},
    };
    struct compiled_binary binary;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        disassemble_by(rows[i][0]);
        assert_status(compile_with(source,
                                   (rnl_module_options){
                                       .timeout_ns = i == 2 ? 1000000 : 0},
                                   &binary), RNL_ERROR_UNSUPPORTED);
        assert_string_equal(rnl_last_error()->parameter,
                            "options.dump.kinds");
        expect_in(rnl_last_error()->message, "/nvdisasm ");
        expect_in(rnl_last_error()->message, rows[i][1]);
        rnl_last_error_clear();
        drop(&binary);
    }
}

RNL_TEST(a_disassembler_that_is_not_there_is_told)
{
    struct compiled_binary binary;
    disassemble_by(NULL);
    rnl_status status =
        compile_with(source, (rnl_module_options){0}, &binary);
    if (status == RNL_OK)
        test_skip("there is one in a usual folder");
    assert_status(status, RNL_ERROR_UNSUPPORTED);
    expect_in(rnl_last_error()->message, "nvdisasm is in none of");
    expect_in(rnl_last_error()->message, test_path("tools"));
    expect_in(rnl_last_error()->message, "/nonexistent/bin");
    assert_null(strstr(rnl_last_error()->message, "relative"));
    rnl_last_error_clear();
    drop(&binary);
}

RNL_TEST(ptx_alone_has_no_machine_code)
{
    static const char *const option = "-arch=compute_80";
    struct compiled_binary binary;
    need_nvrtc();
    dump.kinds = RNL_DUMP_MACHINE;
    assert_status(compile_with(source,
                               (rnl_module_options){.options = &option,
                                                    .option_count = 1},
                               &binary), RNL_ERROR_UNSUPPORTED);
    expect_in(rnl_last_error()->message, "PTX alone");
    rnl_last_error_clear();
    drop(&binary);
}

// --- Names -----------------------------------------------------------------

RNL_TEST(a_name_expression_without_a_meaning_fails)
{
    static const char *const rows[] = {"put<no_such>", "nothing", "put<"};
    struct compiled_binary binary;
    need_nvrtc();
    for (size_t i = 0; i < 3; i++) {
        assert_status(compile_with(source,
                                   (rnl_module_options){
                                       .name_expressions = &rows[i],
                                       .name_expression_count = 1}, &binary),
                      RNL_ERROR_COMPILE_FAILED);
        assert_int_equal(mem_held(), 0);
    }
}

static unsigned allocations_left;

static void *scarce(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    (void)alignment;
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void give_back(void *memory, size_t size, void *user_data)
{
    (void)size;
    (void)user_data;
    free(memory);
}

RNL_TEST(nothing_leaks_when_memory_is_short)
{
    struct compiled_binary binary;
    const rnl_allocator allocator = {
        .struct_size = sizeof allocator, .allocate = scarce, .release = give_back};
    unsigned k = 0;
    need_nvrtc();
    rnl_status status;
    do {
        allocations_left = k++;
        assert_true(mem_set_allocator(&allocator));
        status = compile_with("#warning w\n__global__ void f(int a) {}\n",
                              (rnl_module_options){0}, &binary);
        if (status != RNL_OK) {
            assert_int_equal(status, RNL_ERROR_OUT_OF_MEMORY);
            assert_int_equal(mem_held(), 0);
        }
    } while (status != RNL_OK && k < 100);
    assert_ok(status);
    assert_true(k > 5);
    drop(&binary);
}

RNL_TEST(the_identity_is_quick_and_steady)
{
    char first[512], again[512];
    need_nvrtc();
    assert_ok(cuda_identity(&target, first, sizeof first));
    assert_ok(cuda_identity(&target, again, sizeof again));
    assert_string_equal(first, again);
    struct cuda_target other = target;
    other.minor = 9;
    assert_ok(cuda_identity(&other, again, sizeof again));
    assert_string_not_equal(first, again);
}

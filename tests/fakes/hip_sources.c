// runnel-hip-cc with the hiprtc of this machine, if there is one: no GPU is
// needed to compile for one.
#include "test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cudalike/driver/image.h"
#include "backends/hip/code_object.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/scratch.h"
#include "base/spawn.h"

enum { WORDS_MOST = 48, SECONDS_MOST = 120 };

// One compilation.
struct run {
    struct scratch folder;
    const char *library, *comgr, *arch;
    const char *words[WORDS_MOST];
    size_t count;
    char object[SCRATCH_PATH_SIZE + 32], names[SCRATCH_PATH_SIZE + 32];
    char source[SCRATCH_PATH_SIZE + 32];
    struct spawn_result result;
    void *code;
    size_t size;
};

static struct run run;

// --- Running -----------------------------------------------------------------

static void find_library(void)
{
    static const char *const libraries[][2] = {
        {"libhiprtc.so.7", "libamd_comgr.so.3"},
        {"libhiprtc.so.6", "libamd_comgr.so.3"},
        {"libhiprtc.so.6", "libamd_comgr.so.2"},
        {"libhiprtc.so.5", "libamd_comgr.so.2"},
        {"libamdhip64.so.5", "libamd_comgr.so.2"},
    };
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (dlopen(libraries[i][0], RTLD_LAZY | RTLD_LOCAL) &&
            dlopen(libraries[i][1], RTLD_LAZY | RTLD_LOCAL)) {
            run.library = libraries[i][0];
            run.comgr = libraries[i][1];
            return;
        }
    test_skip("there is no hiprtc (Debian: libamdhip64-5)");
}

static void add(const char *option, const char *value)
{
    assert_true(run.count + 2 < WORDS_MOST);
    run.words[run.count++] = option;
    run.words[run.count++] = value;
}

static void begin(const char *arch, const char *name)
{
    const char *program = getenv("RUNNEL_HIP_CC");
    run = (struct run){.arch = arch};
    if (!program)
        test_skip("runnel-hip-cc was not built");
    find_library();
    assert_int_equal(scratch_make(&run.folder, 32), 0);
    snprintf(run.object, sizeof run.object, "%s/object", run.folder.path);
    snprintf(run.names, sizeof run.names, "%s/names", run.folder.path);
    snprintf(run.source, sizeof run.source, "%s/source", run.folder.path);
    run.words[run.count++] = program;
    add("--output", run.object);
    add("--names", run.names);
    add("--name", name);
    add("--library", run.library);
    add("--comgr", run.comgr);
    add("--arch", run.arch);
}

// Runs the program; the end is in run.result.
static void compile(const char *path)
{
    add("--source", path);
    uint64_t deadline =
        clock_deadline(SECONDS_MOST * UINT64_C(1000000000));
    assert_int_equal(spawn_run((char *const *)(uintptr_t)run.words,
                               run.folder.path, deadline, NULL, &run.result),
                     0);
    if (run.result.end == SPAWN_EXITED && run.result.code == 0)
        assert_int_equal(file_read_path(run.object, (size_t)1 << 29, &run.code,
                                        &run.size),
                         0);
}

static void compile_text(const char *text)
{
    assert_int_equal(file_write_path(run.source, text, strlen(text)), 0);
    compile(run.source);
}

static void end(void)
{
    text_finish(&run.result.output);
    mem_release(run.code, run.size);
    scratch_remove(&run.folder);
}

static void expect_code(int code)
{
    if (run.result.end != SPAWN_EXITED || run.result.code != code)
        fail_msg("end %d, code %d, not %d: %s", run.result.end,
                 run.result.code, code, text_get(&run.result.output));
}

static void expect_words(const char *words)
{
    if (!strstr(text_get(&run.result.output), words))
        fail_msg("'%s' is not in: %s", words, text_get(&run.result.output));
}

// --- Sources -----------------------------------------------------------------

RNL_TEST(an_error_has_the_users_line_and_name)
{
    begin("gfx90a", "wrong \"name\".cu");
    compile_text("__global__ void k(int *p)\n{\n    *p = nonsense;\n}\n");
    expect_code(1);
    expect_words("wrong \"name\".cu:3:10: error: use of undeclared identifier");
    end();
}

RNL_TEST(an_unknown_architecture_is_refused_by_name)
{
    static const char *const archs[] = {"bogus", "sm_80", "gfx", "gfx90"};
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
        begin(archs[i], "k.cu");
        compile_text("__global__ void k() {}\n");
        expect_code(8);
        expect_words(archs[i]);
        end();
    }
}

RNL_TEST(a_missing_library_is_named)
{
    begin("gfx90a", "k.cu");
    run.words[8] = "/nonexistent/libhiprtc.so";
    compile_text("__global__ void k() {}\n");
    expect_code(8);
    expect_words("/nonexistent/libhiprtc.so");
    end();
}

RNL_TEST(another_version_of_comgr_does_as_well)
{
    begin("gfx90a", "k.cu");
    run.words[10] = "/nonexistent/libamd_comgr.so.9";
    compile_text("__global__ void k() {}\n");
    expect_code(0);
    end();
}

RNL_TEST(name_expressions_become_symbols)
{
    void *names;
    size_t size;
    begin("gfx1030", "k.cu");
    add("--name-expression", "twice<float>");
    add("--name-expression", "&a::counter");
    compile_text("template <class T> __global__ void twice(T *p) { *p *= 2; }\n"
                 "namespace a { __device__ int counter; }\n");
    expect_code(0);
    assert_int_equal(file_read_path(run.names, 4096, &names, &size), 0);
    assert_memory_equal(names, "_Z5twiceIfEvPT_\n_ZN1a7counterE\n", size);
    mem_release(names, size);
    end();
}

RNL_TEST(options_of_nvrtc_are_translated)
{
    begin("gfx90a", "k.cu");
    add("--option", "-DVALUE=7");
    add("--option", "--use_fast_math");
    add("--option", "--fmad=false");
    add("--option", "--std=c++20");
    add("--option", "-arch=sm_90");
    add("--option", "--maxrregcount=32");
    add("--option", "-lineinfo");
    add("--option", "-default-device");
    compile_text("int seven() { return VALUE; }\n"
                 "template <class T> concept any = true;\n"
                 "__global__ void k(int *p) { *p = seven(); }\n");
    expect_code(0);
    end();
    begin("gfx90a", "k.cu");
    add("--option", "--std=pascal");
    compile_text("__global__ void k() {}\n");
    expect_code(5);
    expect_words("pascal");
    end();
}

RNL_TEST(a_header_of_the_user_wins)
{
    char header[SCRATCH_PATH_SIZE + 64], path[SCRATCH_PATH_SIZE + 32];
    static const char text[] = "#define MINE 3\n";
    begin("gfx90a", "k.cu");
    snprintf(path, sizeof path, "%s/header-0", run.folder.path);
    snprintf(header, sizeof header, "math.h=%s", path);
    assert_int_equal(file_write_path(path, text, strlen(text)), 0);
    add("--header", header);
    compile_text("#include <math.h>\n"
                 "__global__ void k(int *p) { *p = MINE; }\n");
    expect_code(0);
    end();
}

// In the metadata, 16-bit numbers are marked by 0xcd.
RNL_TEST(launch_bounds_limit_the_threads_of_a_block)
{
    static const unsigned char most[] = ".max_flat_workgroup_size\xcd\x02\x40";
    begin("gfx90a", "bounds.cu");
    compile_text("template <int N> __global__ void __launch_bounds__(N, 2)\n"
                 "scale(int *p) { *p *= N; }\n"
                 "template __global__ void scale<576>(int *);\n");
    expect_code(0);
    assert_non_null(memmem(run.code, run.size, most, sizeof most - 1));
    end();
}

// Before clang 16 the prelude has these operators on types, not the compiler.
RNL_TEST(types_are_transformed_in_every_version)
{
    begin("gfx90a", "types.cu");
    compile_text(
        "#include <type_traits>\n"
        "#include <limits>\n"
        "#define SAME(trait, from, ...) \\\n"
        "    static_assert(std::is_same<std::trait<from>::type, \\\n"
        "                               __VA_ARGS__>::value); \\\n"
        "    static_assert(std::is_same_v<std::trait##_t<from>, \\\n"
        "                                 __VA_ARGS__>);\n"
        "enum small : short { one = 1 };\n"
        "typedef int function(float);\n"
        "SAME(remove_cv, const volatile int, int)\n"
        "SAME(remove_cv, const int *, const int *)\n"
        "SAME(remove_const, const volatile int, volatile int)\n"
        "SAME(remove_volatile, const volatile int, const int)\n"
        "SAME(remove_reference, int &, int)\n"
        "SAME(remove_reference, const int &&, const int)\n"
        "SAME(remove_pointer, int *const volatile, int)\n"
        "SAME(remove_pointer, const int *, const int)\n"
        "SAME(remove_pointer, int, int)\n"
        "SAME(remove_extent, int[3][4], int[4])\n"
        "SAME(remove_extent, const int[], const int)\n"
        "SAME(add_pointer, int &, int *)\n"
        "SAME(add_pointer, void, void *)\n"
        "SAME(add_pointer, function, function *)\n"
        "SAME(decay, const int &, int)\n"
        "SAME(decay, const int(&)[5], const int *)\n"
        "SAME(decay, function &, function *)\n"
        "SAME(make_signed, unsigned long long, long long)\n"
        "SAME(make_signed, const char, const signed char)\n"
        "SAME(make_signed, unsigned long, long)\n"
        "SAME(make_unsigned, long long, unsigned long long)\n"
        "SAME(make_unsigned, volatile short, volatile unsigned short)\n"
        "SAME(make_unsigned, small, unsigned short)\n"
        "SAME(underlying_type, small, short)\n"
        "template <class T> __device__ std::decay_t<T> twice(T x)\n"
        "{ return x + x; }\n"
        "__global__ void k(int *out) { *out = twice<const int &>(*out)\n"
        "    + std::numeric_limits<short>::max(); }\n");
    expect_code(0);
    end();
}

// LLVM 15 ends the process; a newer one may know better.
RNL_TEST(a_source_that_crashes_the_compiler_crashes_nobody_else)
{
    begin("gfx90a", "k.cu");
    compile_text("__global__ void k(int *out, int n) {\n"
                 "    __shared__ int a[4];\n"
                 "    static int *const rows[] = {a};\n"
                 "    out[n] = rows[n] == out;\n"
                 "}\n");
    if (run.result.end == SPAWN_EXITED)
        assert_true(run.result.code == 0 || run.result.code == 1);
    else
        assert_int_equal(run.result.end, SPAWN_SIGNALLED);
    end();
}

// --- The corpus --------------------------------------------------------------

struct lack {
    const char *file, *words;
};

// Files with something that HIP does not have, and what the compiler says.
static const struct lack lacks[] = {
    {"kernels/cluster.cu", "cluster_group"},
    {"kernels/globals.cu", "undefined hidden symbol: twice(int)"},
    {"kernels/language.cu", "__managed__"},
    {"kernels/program.cu", "chrono"},
    {"kernels/rounding.cu", "__fdiv_rz"},
    {"kernels/shared.cu", ""},  // ends the process; see above
    {"corpus/exact.cu", "__fdiv_rz"},
    {"corpus/modern.cu", "cannot decompose class type"},
    {"corpus/narrow.cu", "__float2rnl_half_rn"},
};

static const char *lack_of(const char *path)
{
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        size_t length = strlen(lacks[i].file), all = strlen(path);
        if (all >= length && strcmp(path + all - length, lacks[i].file) == 0)
            return lacks[i].words;
    }
    return NULL;
}

// Every kernel has a description, for waves of that many lanes.
static void expect_described(const char *path, int lanes)
{
    static const struct image_vendor amd = {.machine = 224};
    const unsigned char wave[] = {'_', 's', 'i', 'z', 'e',
                                  (unsigned char)lanes};
    enum image_form form;
    struct image_maker maker = {.failed = false};
    assert_null(image_vendor_fault(&amd, run.code, run.size, &form));
    code_object_read(run.code, run.size, &maker);
    if (maker.entry_count == 0 || !memmem(run.code, run.size, wave, 6))
        fail_msg("%s: %u kernels", path, (unsigned)maker.entry_count);
    image_abandon(&maker);
}

// The options behind "// @options" but for those of the cpu.
static void add_options(const char *text, char words[256])
{
    const char *line = text ? strstr(text, "\n// @options ") : NULL;
    char *rest;
    snprintf(words, 256, "%s", line ? line + 13 : "");
    words[strcspn(words, "\n")] = 0;
    for (char *word = strtok_r(words, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        if (strncmp(word, "--block-size", 12) && strncmp(word, "--tier", 6))
            add("--option", word);
}

static void try_file(const char *path, const char *arch, int lanes)
{
    char words[256];
    void *text;
    size_t size;
    begin(arch, path);
    assert_int_equal(file_read_path(path, 1 << 20, &text, &size), 0);
    char *copy = strndup(text, size);
    add_options(copy, words);
    compile(path);
    const char *lack = lack_of(path);
    if (lack) {
        assert_false(run.result.end == SPAWN_EXITED && run.result.code == 0);
        expect_words(lack);
    } else {
        expect_code(0);
        expect_described(path, lanes);
    }
    free(copy);
    mem_release(text, size);
    end();
}

static void try_folder(const char *folder, const char *arch, int lanes)
{
    char path[1024];
    struct dirent *entry;
    DIR *files = opendir(folder);
    long count = 0;
    assert_non_null(files);
    while ((entry = readdir(files)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".cu") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        try_file(path, arch, lanes);
        count++;
    }
    closedir(files);
    assert_true(count > 0);
    test_figure("hip files compiled", count);
}

#define FOLDER(name) SOURCE_FOLDER "/" name

RNL_TEST(the_kernels_of_the_benchmark_compile)
{
    try_folder(FOLDER("bench/kernels"), "gfx90a", 64);
    try_folder(FOLDER("bench/kernels"), "gfx1030", 32);
}

RNL_TEST(the_corpus_compiles_for_waves_of_64)
{
    try_folder(FOLDER("tests/differential/corpus"), "gfx90a", 64);
}

RNL_TEST(the_corpus_compiles_for_waves_of_32)
{
    try_folder(FOLDER("tests/differential/corpus"), "gfx1030", 32);
}

RNL_TEST(the_kernels_of_the_compilers_tests_compile_for_waves_of_64)
{
    try_folder(FOLDER("tests/compiler/kernels"), "gfx90a", 64);
}

RNL_TEST(the_kernels_of_the_compilers_tests_compile_for_waves_of_32)
{
    try_folder(FOLDER("tests/compiler/kernels"), "gfx1030", 32);
}

// The table of passes: runnel-cc prints it, and each pass can be dumped, and
// skipped unless other code needs it.
#include "build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASSES_MOST = 100, COUNT = 256 };

static struct built built;

// Has a barrier, shared and private memory, a grid-stride loop, a struct, and
// halves of a branch.
static const char source[] =
    "struct pair { int a, b; };\n"
    "extern \"C\" __global__ void k(int *out, const int *in, int n)\n"
    "{\n"
    "    __shared__ int tile[64];\n"
    "    int own[4] = {0};\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    for (int j = i; j < n; j += gridDim.x * blockDim.x)\n"
    "        own[j & 3] += in[j];\n"
    "    tile[threadIdx.x] = own[i & 3];\n"
    "    __syncthreads();\n"
    "    pair p = ((const pair *)in)[i / 2];\n"
    "    int all = tile[63 - threadIdx.x] + p.a * p.b;\n"
    "    for (int j = 0; j < 4; j++)\n"
    "        all += in[4 * (i / 4) + j];\n"
    "    if (all % 3)\n"
    "        all = all / 3 - (i | 1);\n"
    "    out[i] = all;\n"
    "}\n";

// Of runnel-cc --list-passes.
static struct pass {
    char name[64];
    bool needed;
} passes[PASSES_MOST];
static unsigned pass_count;

static void list_passes(void)
{
    char command[256], line[256];
    snprintf(command, sizeof command, "'%s' --list-passes",
             getenv("RUNNEL_CC"));
    FILE *list = popen(command, "r");
    assert_non_null(list);
    for (pass_count = 0; fgets(line, sizeof line, list);) {
        if (line[0] == ' ')
            continue;
        assert_true(pass_count < PASSES_MOST);
        struct pass *pass = &passes[pass_count++];
        pass->needed = strstr(line, " (needed)") != NULL;
        snprintf(pass->name, sizeof pass->name, "%.*s",
                 (int)strcspn(line, " \n"), line);
    }
    assert_int_equal(pclose(list), 0);
    assert_true(pass_count > 40);
}

static void make(const char *format, const char *name, const char *size)
{
    char arguments[512];
    built_write(&built, "k.cu", source);
    snprintf(arguments, sizeof arguments, format, name);
    snprintf(arguments + strlen(arguments),
             sizeof arguments - strlen(arguments),
             " --source @/k.cu --option --tier=B%s", size);
    built_make(&built, arguments);
}

static bool has_dump(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/p.%s.ll", built.folder, name);
    return access(path, R_OK) == 0;
}

static void run(int *out)
{
    int in[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = sample(i);
    memset(out, 0, COUNT * sizeof *out);
    built_run_ints(&built, "k", (rnl_dim3){4, 1, 1}, (rnl_dim3){64, 1, 1}, 0,
                   out, in, COUNT);
}

// Skips each pass that is not needed; the results stay the same.
static void skip_each(const char *size)
{
    int expected[COUNT], out[COUNT];
    list_passes();
    make("%s", "", size);
    assert_string_equal(built.log, "");
    run(expected);
    built_close(&built);
    for (unsigned i = 0; i < pass_count; i++) {
        if (passes[i].needed)
            continue;
        make("--skip-pass=%s", passes[i].name, size);
        if (built.status != 0 || built.log[0])
            fail_msg("without %s: %s", passes[i].name, built.log);
        run(out);
        if (memcmp(out, expected, sizeof out) != 0)
            fail_msg("without %s other results", passes[i].name);
        built_close(&built);
    }
}

RNL_TEST(passes_that_are_not_needed_can_be_skipped)
{
    skip_each("");
}

RNL_TEST(passes_for_one_block_size_can_be_skipped)
{
    skip_each(" --option --block-size=64");
}

RNL_TEST(passes_of_tier_f_can_be_skipped)
{
    int expected[COUNT], out[COUNT];
    make("--option --tier=F%s", "", " --option --tier=F");
    run(expected);
    built_close(&built);
    make("--skip-pass=tbaa --skip-pass=%s", "optimise", " --option --tier=F");
    assert_int_equal(built.status, 0);
    run(out);
    assert_memory_equal(out, expected, sizeof out);
    built_close(&built);
}

RNL_TEST(passes_that_are_needed_are_not_skipped)
{
    unsigned needed = 0;
    list_passes();
    for (unsigned i = 0; i < pass_count; i++) {
        char sentence[192];
        if (!passes[i].needed)
            continue;
        make("--skip-pass=%s", passes[i].name, "");
        assert_int_equal(built.status, 5);
        snprintf(sentence, sizeof sentence,
                 "a pass that is needed cannot be skipped: %.63s: ",
                 passes[i].name);
        if (!strstr(built.log, sentence))
            fail_msg("said: %s", built.log);
        built_close(&built);
        needed++;
    }
    assert_true(needed > 10 && needed < pass_count);
}

RNL_TEST(a_pass_is_dumped)
{
    unsigned dumped = 0;
    list_passes();
    for (unsigned i = 0; i < pass_count; i++) {
        char fixed[80];
        make("--dump-ir @/p --dump-after=%s", passes[i].name,
             " --option --block-size=64");
        snprintf(fixed, sizeof fixed, "fixed.%s", passes[i].name);
        assert_int_equal(built.status, 0);
        bool made = has_dump(passes[i].name) || has_dump(fixed);
        bool said = strstr(built.log, "did not run") != NULL;
        if (made == said)
            fail_msg("%s: dumped %d, said: %s", passes[i].name, made,
                     built.log);
        assert_false(has_dump("source"));
        dumped += made;
        built_close(&built);
    }
    assert_true(dumped + 10 > pass_count);
}

RNL_TEST(names_that_no_pass_has)
{
    make("--skip-pass=%s", "nonsense", "");
    assert_int_equal(built.status, 5);
    assert_non_null(strstr(built.log, "--skip-pass: there is no pass "
                                      "'nonsense'"));
    built_close(&built);
    make("--dump-ir @/p --dump-after %s", "nonsense", "");
    assert_int_equal(built.status, 5);
    assert_non_null(strstr(built.log, "--dump-after: there is no pass "
                                      "'nonsense'"));
    built_close(&built);
    make("--dump-after=%s", "reg2mem", "");
    assert_int_equal(built.status, 2);
    assert_non_null(strstr(built.log, "--dump-after needs --dump-ir PREFIX"));
    built_close(&built);
}

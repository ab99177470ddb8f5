// Which options there are: NVRTC's and Runnel's own, and no other.
#include "build.h"

#include <stdio.h>
#include <string.h>

static struct built built;

// Options are read before the source, so that one which is not there tells,
// without a compilation, that they were taken.
enum { REFUSED = 5, NO_SOURCE = 6 };

static void make(const char *words)
{
    char arguments[512];
    snprintf(arguments, sizeof arguments, "--source @/absent --name k.cu %s",
             words);
    built_make(&built, arguments);
}

static void takes(const char *words)
{
    make(words);
    if (built.status != NO_SOURCE)
        fail_msg("%s: %d: %s", words, built.status, built.log);
}

// One word, quoted for the shell, must be told with what to do instead.
static void refuses(const char *word)
{
    char words[256], named[256];
    // The shell writes "@", which stands for the folder otherwise.
    bool at = word[0] == '@';
    snprintf(words, sizeof words, "--option %s%s%s",
             at ? "\"$(printf '\\100')\"" : "'", word + at, at ? "" : "'");
    snprintf(named, sizeof named,
             "k.cu: error: '%s' is no option of the kernel compiler: ", word);
    make(words);
    const char *said = strstr(built.log, named);
    if (built.status != REFUSED || !said || strlen(said) < strlen(named) + 20)
        fail_msg("%s: %d: %s", word, built.status, built.log);
}

// As the documentation of NVRTC 13.0 lists them.
static const char *const switches[] = {
    "ftz", "prec-sqrt", "prec-div", "fmad", "modify-stack-limit",
    "device-stack-protector", "builtin-move-forward",
    "builtin-initializer-list", "pch-verbose", "pch-messages",
    "instantiate-templates-in-pch"};
static const char *const long_switches[] = {"relocatable-device-code",
                                            "brief-diagnostics"};
static const char *const short_switches[] = {"rdc", "brief-diag"};
static const char *const alone[] = {
    "--device-c", "-dc", "--device-w", "-dw", "--extensible-whole-program",
    "-ewp", "--device-debug", "-G", "--generate-line-info", "-lineinfo",
    "--use_fast_math", "-use_fast_math", "--extra-device-vectorization",
    "-extra-device-vectorization", "--no-cache", "-no-cache",
    "--no-source-include", "-no-source-include", "--pch", "-pch",
    "--disable-warnings", "-w", "--restrict", "-restrict",
    "--device-as-default-execution-space", "-default-device",
    "--device-int128", "-device-int128", "--device-float128",
    "-device-float128", "--display-error-number", "-err-no",
    "--no-display-error-number", "-no-err-no", "--minimal", "-minimal"};
static const char *const valued[][2] = {
    {"--gpu-architecture", "sm_90"}, {"-arch", "compute_80"}, {"--dopt", "on"},
    {"-dopt", "on"}, {"--Ofast-compile", "min"}, {"-Ofc", "0"},
    {"--ptxas-options", "-v"}, {"-Xptxas", "-v"}, {"--maxrregcount", "32"},
    {"-maxrregcount", "32"}, {"--jump-table-density", "50"}, {"-jtd", "50"},
    {"--frandom-seed", "7"}, {"-frandom-seed", "7"}, {"--define-macro", "X=1"},
    {"-D", "X=1"}, {"--undefine-macro", "X"}, {"-U", "X"},
    {"--include-path", "/x"}, {"-I", "/x"}, {"--pre-include", "x.h"},
    {"-include", "x.h"}, {"--std", "c++20"}, {"-std", "c++17"},
    {"--create-pch", "x"}, {"-create-pch", "x"}, {"--use-pch", "x"},
    {"-use-pch", "x"}, {"--pch-dir", "/x"}, {"-pch-dir", "/x"},
    {"--optimization-info", "inline"}, {"-opt-info", "inline"},
    {"--diag-error", "1"}, {"-diag-error", "1"}, {"--diag-suppress", "1,2"},
    {"-diag-suppress", "1"}, {"--diag-warn", "1"}, {"-diag-warn", "1"},
    {"--time", "x"}, {"-time", "x"}, {"--split-compile", "0"},
    {"-split-compile", "2"}, {"--fdevice-time-trace", "x"},
    {"-fdevice-time-trace", "x"},
    // Runnel's own.
    {"--tier", "F"}, {"--target", "x86-64-v3"}, {"--block-size", "16x16"}};
static const char *const own[] = {
    "--report-tiers", "--report-includes", "-g", "--lineinfo",
    "-fassociative-math", "-fno-signed-zeros", "-Wall", "-Wno-unused",
    "-Werror=vla", "-Wformat=2",
    "-DX", "-DX=1", "-D=X", "-D X=1", "-UX", "-I/x", "-I /x", "-I=/x"};

static void take_alone(const char *const *words, size_t count)
{
    char option[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(option, sizeof option, "--option '%s'", words[i]);
        takes(option);
    }
}

static void take_switches(const char *dashes, const char *const *names,
                          size_t count)
{
    static const char *const ends[] = {"", "=true", "=false",
                                       " --option false"};
    char option[80];
    for (size_t i = 0; i < count; i++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            snprintf(option, sizeof option, "--option %s%s%s", dashes,
                     names[i], ends[e]);
            takes(option);
        }
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

RNL_TEST(options_of_nvrtc_and_runnel_are_taken)
{
    char option[80];
    take_switches("--", switches, COUNT(switches));
    take_switches("-", switches, COUNT(switches));
    take_switches("--", long_switches, COUNT(long_switches));
    take_switches("-", short_switches, COUNT(short_switches));
    take_alone(alone, COUNT(alone));
    take_alone(own, COUNT(own));
    for (size_t i = 0; i < COUNT(valued); i++) {
        snprintf(option, sizeof option, "--option %s=%s", valued[i][0],
                 valued[i][1]);
        takes(option);
        snprintf(option, sizeof option, "--option %s --option %s",
                 valued[i][0], valued[i][1]);
        takes(option);
    }
    built_close(&built);
}

RNL_TEST(all_other_options_are_refused_by_name)
{
    static const char *const others[] = {
        // Load code, or run programs.
        "-fplugin=x.so", "-fplugin", "-fpass-plugin=x.so", "-fplugin-arg-x-y=1",
        "-fuse-ld=/x", "-B/x", "-Xclang", "-load", "-mllvm", "-wrapper",
        "-specs=/x", "--specs=x", "-fmodule-file=x", "-fmodules",
        "-ivfsoverlay", "--config=x", "-fprebuilt-module-path=/x",
        "-ccc-gcc-name", "-no-integrated-as", "-fno-integrated-cc1",
        "-fthinlto-index=x",
        // Write files, or read others.
        "-ftime-trace=x", "-ftime-trace", "-fprofile-generate=x",
        "-fprofile-use=x", "-fcoverage-mapping", "-fprofile-arcs", "--coverage",
        "-save-temps", "-MD", "-MFx", "-o", "-ox", "-dumpdir", "-isystem/x",
        "-iquote/x", "-idirafter/x", "-imacros", "-isysroot", "--sysroot=/x",
        "-include-pch", "@x", "-gsplit-dwarf", "-fcrash-diagnostics-dir=x",
        "-frecord-command-line", "-fdump-tree-all", "-fopt-info=x",
        // To the linker, the assembler and the preprocessor.
        "-Wl,-rpath,/x", "-Wa,-a", "-Wp,-D", "-Xlinker", "-Xassembler",
        "-Xpreprocessor", "-Xcompiler", "-lx", "-L/x", "-shared", "-static",
        "-nostdlib", "-rdynamic", "-z",
        // Change what is made of the source.
        "-O3", "-Ofast", "-ffast-math", "-march=native", "-mcpu=x", "-mtune=x",
        "-m32", "-E", "-S", "-c", "-x", "-fsyntax-only", "-emit-llvm", "-flto",
        "-fopenmp", "-fsanitize=address", "-fexceptions", "-Werror=VLA",
        // What nvcc has and NVRTC has not.
        "--compiler-options", "-Xnvvm", "-Xcudafe", "-ccbin", "--keep",
        "--dryrun",
        // Nearly one of them.
        "-W", "--fmadd=true", "--ftzz", "-Gx", "--", "-", "--tiers=F",
        "kernel.cu"};
    for (size_t i = 0; i < COUNT(others); i++)
        refuses(others[i]);
    assert_true(COUNT(others) > 80);
    built_close(&built);
}

RNL_TEST(what_is_common_elsewhere_is_told_by_its_name_here)
{
    static const char *const rows[][2] = {
        {"-O3", "kernels are optimised unless -G is given"},
        {"-Ofast", "--use_fast_math"}, {"-ffast-math", "--use_fast_math"},
        {"-march=native", "--target=NAME"}, {"-isystem/x", "-I names a folder"},
        {"\"$(printf '\\100')\"x", "one by one, not in a file"},
        {"-fplugin=x", "loads no code"},
        {"-lm", "linked with nothing"}, {"-Xcompiler", "by NVRTC's names"}};
    char words[64];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(words, sizeof words, "--option %s", rows[i][0]);
        make(words);
        assert_int_equal(built.status, REFUSED);
        assert_non_null(strstr(built.log, rows[i][1]));
    }
    built_close(&built);
}

// To a compiler '@name' is a file of options, and '-name' an option.
RNL_TEST(names_of_files_are_no_options)
{
    static const char *const names[] = {
        "$(printf '\\100evil.cu')", "-fplugin=evil.so", "-evil.cu"};
    built_write(&built, "plain.cu",
                "extern \"C\" __global__ void k(int *o) { o[0] = 1; }\n");
    built_write(&built, "evil.cu", "-fplugin=/absent.so\n");
    for (size_t i = 0; i < COUNT(names); i++) {
        char words[256];
        snprintf(words, sizeof words, "--source @/plain.cu --name \"%s\"",
                 names[i]);
        built_make(&built, words);
        if (built.status != 0)
            fail_msg("%s: %s", names[i], built.log);
    }
    built_make(&built, "--source @/plain.cu --option -include --option "
                       "\"$(printf '\\100evil.cu')\"");
    assert_null(strstr(built.log, "plugin"));
    assert_int_equal(built.status, 1);
    built_close(&built);
}

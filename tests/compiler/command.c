// runnel-cc as a command: its options, exit codes and what it leaves behind.
#include "build.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct built built;
static const char simple[] =
    "extern \"C\" __global__ void k(int *out) { out[0] = 1; }\n";

static void exits(const char *arguments, int status, const char *log)
{
    built_make(&built, arguments);
    assert_int_equal(built.status, status);
    if (!strstr(built.log, log))
        fail_msg("said: %s", built.log);
    assert_int_not_equal(access(built.object, F_OK), 0);
}

static int entries_in(const char *folder)
{
    int count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *e; (e = readdir(entries));)
        count += e->d_name[0] != '.';
    closedir(entries);
    return count;
}

RNL_TEST(wrong_usage)
{
    exits("--nonsense", 2, "--nonsense: unknown option");
    exits("--name", 2, "--name: unknown option, or its value is missing");
    exits("--header x.h", 2, "--header: ");
    exits("--source /nowhere/at/all.cu", 6,
          "cannot read /nowhere/at/all.cu: No such file");
    exits("--header x.h=/nowhere/x.h", 6, "cannot read /nowhere/x.h");
    built_write(&built, "x", "");
    exits("--header ../x.h=@/x", 2, "a header cannot be called ../x.h");
    exits("--header /x.h=@/x", 2, "a header cannot be called /x.h");
    exits("--header a/../../x.h=@/x", 2, "a header cannot be called a/../");
    built_close(&built);
}

RNL_TEST(output_that_cannot_be_written)
{
    built_write(&built, "k.cu", simple);
    built_make(&built, "--source @/k.cu --output /nowhere/object.so");
    assert_int_equal(built.status, 6);
    assert_non_null(strstr(built.log, "cannot write /nowhere/object.so"));
    built_close(&built);
}

// As /dev/null, which root could lose.
RNL_TEST(what_is_no_file_is_written_to_and_not_replaced)
{
    char path[128], command[512], magic[4];
    struct stat there;
    built_write(&built, "k.cu", simple);
    snprintf(path, sizeof path, "%s/pipe", built.folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int pipe = open(path, O_RDWR | O_NONBLOCK);
    assert_true(pipe >= 0);
    assert_true(fcntl(pipe, F_SETPIPE_SZ, 1 << 18) >= 0);  // all fits
    snprintf(command, sizeof command,
             "'%s' --source '%s/k.cu' --output '%s'", getenv("RUNNEL_CC"),
             built.folder, path);
    assert_int_equal(system(command), 0);
    assert_int_equal(stat(path, &there), 0);
    assert_true(S_ISFIFO(there.st_mode));
    assert_int_equal(read(pipe, magic, sizeof magic), sizeof magic);
    assert_memory_equal(magic, "\177ELF", sizeof magic);
    close(pipe);
    unlink(path);
    built_close(&built);
}

RNL_TEST(temporary_files_are_removed)
{
    built_write(&built, "k.cu", simple);
    char folder[128];
    snprintf(folder, sizeof folder, "%s/tmp", built.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    setenv("TMPDIR", folder, 1);
    built_make(&built, "--source @/k.cu --option -DX --header a/b/c.h=@/k.cu");
    assert_int_equal(built.status, 0);
    assert_int_equal(entries_in(folder), 0);
    built_write(&built, "k.cu", "wrong\n");
    built_make(&built, "--source @/k.cu --output @/none.so");
    assert_int_equal(built.status, 1);
    assert_int_equal(entries_in(folder), 0);
    // clang cannot make code of this.
    built_write(&built, "k.cu", "__global__ void k(float *f)\n"
                "{ asm(\"mma %0, %1;\" : \"+f\"(f[0]), \"+f\"(f[1])); }\n");
    built_make(&built, "--source @/k.cu --output @/none.so");
    assert_int_equal(built.status, 1);
    assert_int_equal(entries_in(folder), 0);
    built_close(&built);
}

RNL_TEST(temporary_files_are_removed_when_files_are_limited)
{
    built_write(&built, "k.cu", simple);
    char folder[128];
    snprintf(folder, sizeof folder, "%s/tmp", built.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    setenv("TMPDIR", folder, 1);
    setenv("TEST_LIMIT", "ulimit -f 2;", 1);
    exits("--source @/k.cu", 6, ": File too large");
    unsetenv("TEST_LIMIT");
    assert_int_equal(entries_in(folder), 0);
    built_close(&built);
}

RNL_TEST(a_compiler_that_crashes)
{
    built_write(&built, "k.cu", "#pragma clang __debug llvm_fatal_error\n");
    exits("--source @/k.cu", 4, "runnel-cc: clang crashed (status 70)");
    built_write(&built, "k.cu", "#pragma clang __debug crash\n");
    exits("--source @/k.cu", 4, "runnel-cc: clang crashed (status 1");
    built_close(&built);
}

// clang's child waits for the text of a header.
RNL_TEST(temporary_files_are_removed_when_terminated)
{
    char folder[128], include[128], source[128], fifo[128];
    built_write(&built, "k.cu", "#include \"waits.h\"\n");
    snprintf(fifo, sizeof fifo, "%s/waits.h", built.folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(folder, sizeof folder, "%s/tmp", built.folder);
    snprintf(include, sizeof include, "-I%s", built.folder);
    snprintf(source, sizeof source, "%s/k.cu", built.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    setenv("TMPDIR", folder, 1);
    pid_t child = test_fork();
    if (child == 0) {
        execlp(getenv("RUNNEL_CC"), "runnel-cc", "--source", source, "--option",
               include, "--output", "/nowhere/x.so", (char *)NULL);
        _exit(127);
    }
    int header = open(fifo, O_WRONLY | O_CLOEXEC);
    assert_true(header >= 0);
    assert_int_equal(entries_in(folder), 1);
    kill(child, SIGTERM);
    assert_int_equal(test_wait(child), -SIGTERM);
    assert_int_equal(entries_in(folder), 0);
    close(header);
    built_close(&built);
}

RNL_TEST(source_from_standard_input)
{
    built_write(&built, "k.cu", simple);
    built_make(&built, "< @/k.cu");
    assert_int_equal(built.status, 0);
    assert_non_null(built_kernel(&built, "k"));
    built_close(&built);
}

static void read_line(const char *arguments, char line[1024])
{
    char command[512];
    snprintf(command, sizeof command, "%s %s", getenv("RUNNEL_CC"), arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, 1024, pipe));
    assert_int_equal(pclose(pipe), 0);
}

RNL_TEST(identity_tells_what_matters)
{
    char first[1024], second[1024], baseline[1024];
    read_line("--identity", first);
    read_line("--identity", second);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "abi 1 prelude "));
    assert_non_null(strstr(first, " target native:"));
    assert_non_null(strstr(first, " ("));  // the processor's name
    setenv("RUNNEL_CPU_TARGET", "x86-64", 1);
    read_line("--identity", baseline);
    assert_non_null(strstr(baseline, " target x86-64\n"));
    read_line("--version", first);
    assert_int_equal(strncmp(first, "runnel-cc ", 10), 0);
    read_line("--help", first);
    assert_int_equal(strncmp(first, "runnel-cc - ", 12), 0);
}

// Variables that clang, LLVM and lld would heed.
RNL_TEST(the_environment_has_no_say)
{
    static const char *const names[] = {
        "LLD_REPRODUCE", "LLD_VERSION", "LLVM_OVERRIDE_PRODUCER", "CPATH",
        "CLANG_MODULE_CACHE_PATH", "SOURCE_DATE_EPOCH"};
    const size_t count = sizeof names / sizeof *names;
    char trace[128], command[512];
    built_write(&built, "k.cu", "extern \"C\" __global__ void k(double *x)\n"
                                "{ x[0] = tgamma(x[0]); }\n");
    built_make(&built, "--source @/k.cu --untrusted --option -lineinfo");
    assert_int_equal(built.status, 0);
    snprintf(trace, sizeof trace, "%s/trace", built.folder);
    snprintf(command, sizeof command, "cp %s %s/first", built.object,
             built.folder);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < count; i++)
        setenv(names[i], trace, 1);
    built_make(&built, "--source @/k.cu --untrusted --option -lineinfo");
    for (size_t i = 0; i < count; i++)
        unsetenv(names[i]);
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_int_not_equal(access(trace, F_OK), 0);
    snprintf(command, sizeof command, "cmp %s %s/first", built.object,
             built.folder);
    assert_int_equal(system(command), 0);
    setenv("LLD_REPRODUCE", trace, 1);
    built_make(&built, "--source @/k.cu");
    unsetenv("LLD_REPRODUCE");
    assert_int_not_equal(access(trace, F_OK), 0);
    built_close(&built);
}

RNL_TEST(assembly_is_dumped)
{
    static char text[1 << 17];
    char path[128];
    built_write(&built, "k.cu", simple);
    built_make(&built, "--source @/k.cu --dump-assembly @/k.s "
                       "--option --tier=F");
    assert_int_equal(built.status, 0);
    snprintf(path, sizeof path, "%s/k.s", built.folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_non_null(strstr(text, "rnl_entry"));
    built_close(&built);
}

// Of a file that a command wrote; "" where there is none.
static const char *text_of(const char *name)
{
    static char text[1 << 18];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", built.folder, name);
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = 0;
    if (file)
        fclose(file);
    return text;
}

RNL_TEST(ir_is_dumped)
{
    built_write(&built, "k.cu", simple);
    built_make(&built, "--source @/k.cu --dump-ir @/k --option --tier=F");
    assert_int_equal(built.status, 0);
    assert_non_null(strstr(text_of("k.finished.ll"), "define "));
    assert_non_null(strstr(text_of("k.source.ll"), "ModuleID"));
    assert_string_equal(text_of("k.vectors.ll"), "");
    built_make(&built, "--source @/k.cu --dump-ir @/u --untrusted");
    assert_int_equal(built.status, 0);
    assert_non_null(strstr(text_of("u.finished.ll"), "define "));
    built_make(&built, "--source @/k.cu --dump-ir /nonexistent/k");
    assert_int_equal(built.status, 6);
    built_close(&built);
}

// NVRTC's options that have no meaning here must not stop a compilation.
RNL_TEST(options_of_nvrtc)
{
    built_write(&built, "k.cu",
                "#include <cuda_runtime.h>\n"
                "#include \"pre.h\"\n"
                "extern \"C\" __global__ void k(int *out)\n"
                "{ out[0] = A + B + C + PRE + (int)__cplusplus; }\n");
    built_write(&built, "pre", "#define PRE 1000\n");
    built_make(&built, "--source @/k.cu --header pre.h=@/pre --option -DA=1 "
                       "--option -D --option B=2 "
                       "--option --define-macro=C=3 "
                       "--option --gpu-architecture=compute_80 "
                       "--option -arch --option sm_90 "
                       "--option -default-device --option -lineinfo "
                       "--option --use_fast_math --option -std=c++20 "
                       "--option -dopt --option on --option -rdc=true "
                       "--option -extra-device-vectorization "
                       "--option -I/nowhere");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    int out = 0;
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){1}, 0, &out, &out, 0);
    assert_int_equal(out, 1006 + 202002);
    built_close(&built);
}

RNL_TEST(folders_are_relative_to_the_caller)
{
    char folder[128];
    built_write(&built, "own.h", "#define OWN 5\n");
    built_write(&built, "k.cu", "#include \"own.h\"\n"
                                "__global__ void k(int *o) { *o = OWN; }\n");
    char program[4096];
    assert_non_null(realpath(getenv("RUNNEL_CC"), program));
    setenv("RUNNEL_CC", program, 1);
    snprintf(folder, sizeof folder, "%s", built.folder);
    assert_int_equal(chdir(folder), 0);
    built_make(&built, "--source @/k.cu --option -I. ");
    assert_string_equal(built.log, "");
    assert_int_equal(built.status, 0);
    assert_int_equal(chdir("/"), 0);
    built_close(&built);
}

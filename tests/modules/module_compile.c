// Running the kernel compiler, played by shell scripts that misbehave.
#include "backends/cpu/jit/compile.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "core/module/dump.h"
#include "folder.h"
#include "test.h"  // its `fail` would hide ours

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// The words of the command line come as pairs; these scripts pick two of them.
#define PICK                                                          \
    "#!/bin/sh\n"                                                     \
    "while [ $# -gt 0 ]; do case $1 in --output) out=$2;; "           \
    "--source) source=$2;; --header) header=${2#*=};; esac; shift; "  \
    "done\n"

static struct compiled_binary binary;
static rnl_module_options options;
static rnl_dump dump;

static void begin(const char *script)
{
    setenv("RUNNEL_CC", test_path("cc"), 1);
    test_remove("temporary");
    mkdir(test_path("temporary"), 0700);
    setenv("TMPDIR", test_path("temporary"), 1);
    if (script)
        test_script("cc", script);
    options = (rnl_module_options){.struct_size = sizeof options,
                                   .name = "kernel.cu",
                                   .timeout_ns = 20 * UINT64_C(1000000000)};
    dump = (rnl_dump){0};
    binary = (struct compiled_binary){0};
}

static rnl_status compile(const char *text)
{
    struct source source = {text, &options, dump};
    return cpu_module_compile(NULL, &source, &binary);
}

// Whatever happened, no file is left behind.
static void end(void)
{
    mem_release(binary.data, binary.size);
    text_release(binary.log);
    dump_finish(&binary);
    assert_string_equal(test_only_file("temporary"), "");
    rnl_last_error_clear();
    assert_int_equal(mem_held(), 0);
}

static void gives(const char *script, rnl_status expected, const char *words)
{
    begin(script);
    assert_status(compile("source"), expected);
    assert_non_null(strstr(rnl_last_error()->message, words));
    assert_null(binary.data);
    end();
}

RNL_TEST(an_object_comes_back_in_its_envelope)
{
    begin(PICK "cp " FAKE_OBJECT " $out\n");
    assert_ok(compile("source"));
    assert_memory_equal(binary.data, "RNLCPU1", 8);
    assert_null(binary.log);
    end();
}

RNL_TEST(warnings_are_the_log)
{
    begin(PICK "cp " FAKE_OBJECT " $out\necho a warning; echo more >&2\n");
    assert_ok(compile("source"));
    assert_string_equal(binary.log, "a warning\nmore\n");
    end();
}

RNL_TEST(headers_are_files_inside_of_a_folder)
{
    const char *const names[] = {"../a.h", "a/..", "a/../b.h", "/a.h", "a/",
                                 "a=/b.h"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin(PICK "cp " FAKE_OBJECT " $out\n");
        const rnl_header header = {names[i], ""};
        options.headers = &header;
        options.header_count = 1;
        assert_status(compile("source"), RNL_ERROR_INVALID_ARGUMENT);
        assert_string_equal(rnl_last_error()->parameter, "options.headers");
        assert_non_null(strstr(rnl_last_error()->message, names[i]));
        end();
    }
    begin(PICK "cp " FAKE_OBJECT " $out\n");
    const rnl_header header = {"..a/b..h", ""};
    options.headers = &header;
    options.header_count = 1;
    assert_ok(compile("source"));
    end();
}

RNL_TEST(the_compiler_sees_source_and_headers)
{
    begin(PICK "cat $source $header; exit 1\n");
    const rnl_header header = {"a=b.h", "the header\n"};
    options.headers = &header;
    options.header_count = 1;
    assert_status(compile("the source\n"), RNL_ERROR_COMPILE_FAILED);
    // Everything behind the first "=" is the file for this script.
    assert_non_null(strstr(rnl_last_error()->log, "the source\n"));
    end();
}

RNL_TEST(the_command_line_is_complete)
{
    begin("#!/bin/sh\nfor word; do echo \"[$word]\"; done; exit 1\n");
    const char *words[] = {"-DX=1 2", "--use_fast_math"};
    const char *expressions[] = {"scale<float>"};
    options.options = words;
    options.option_count = 2;
    options.name_expressions = expressions;
    options.name_expression_count = 1;
    dump.kinds = RNL_DUMP_ASSEMBLY | RNL_DUMP_IR;
    options.untrusted = true;
    assert_status(compile(""), RNL_ERROR_COMPILE_FAILED);
    const char *log = rnl_last_error()->log;
    assert_non_null(strstr(log, "[--name]\n[kernel.cu]\n"));
    assert_non_null(strstr(log, "[--option]\n[-DX=1 2]\n[--option]\n"
                                "[--use_fast_math]\n"));
    assert_non_null(strstr(log, "[--name-expression]\n[scale<float>]\n"));
    assert_non_null(strstr(log, "/assembly]\n[--dump-ir]\n["));
    assert_non_null(strstr(log, "[--untrusted]\n"));
    end();
}

// --- Dumps -----------------------------------------------------------------

// Picks the places of dumps, too.
#define PICK_DUMPS                                                          \
    "#!/bin/sh\n"                                                           \
    "while [ $# -gt 0 ]; do case $1 in --output) out=$2;; "                 \
    "--dump-assembly) assembly=$2;; --dump-ir) ir=$2;; esac; shift; done\n" \
    "cp " FAKE_OBJECT " $out\n"

static rnl_status compile_dumping(const char *script, uint32_t kinds)
{
    begin(script);
    dump.kinds = kinds;
    return compile("source");
}

RNL_TEST(dumps_come_in_the_order_of_the_stages)
{
    assert_ok(compile_dumping(PICK_DUMPS
                              "printf asm >$assembly; printf a >$ir.source.ll\n"
                              "printf b >$ir.finished.ll; : >$ir.fixed.ll\n",
                              RNL_DUMP_ASSEMBLY | RNL_DUMP_IR));
    static const char *const rows[][2] = {
        {"source.ll", "a"}, {"finished.ll", "b"}, {"fixed.ll", ""},
        {"s", "asm"}};
    const struct dumped *one = binary.dumped;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_non_null(one);
        assert_string_equal(one->name, rows[i][0]);
        assert_string_equal(one->text, rows[i][1]);
        assert_int_equal(one->size, strlen(rows[i][1]));
        one = one->next;
    }
    assert_null(one);
    end();
}

RNL_TEST(ir_that_no_compiler_made_is_a_crash)
{
    assert_status(compile_dumping(PICK_DUMPS "echo none today\n",
                                  RNL_DUMP_IR), RNL_ERROR_COMPILER_CRASHED);
    assert_non_null(strstr(rnl_last_error()->message, "wrote no LLVM IR"));
    assert_string_equal(rnl_last_error()->log, "none today\n");
    end();
}

RNL_TEST(a_dump_that_is_no_file_is_an_error)
{
    assert_status(compile_dumping(PICK_DUMPS, RNL_DUMP_ASSEMBLY),
                  RNL_ERROR_COMPILER_CRASHED);
    assert_non_null(strstr(rnl_last_error()->message, "wrote no assembly"));
    end();
    assert_status(compile_dumping(PICK_DUMPS "mkdir $assembly\n",
                                  RNL_DUMP_ASSEMBLY), RNL_ERROR_IO);
    assert_non_null(strstr(rnl_last_error()->message, "Is a directory"));
    end();
}

RNL_TEST(a_cpu_has_no_disassembler)
{
    assert_status(compile_dumping(PICK_DUMPS, RNL_DUMP_MACHINE),
                  RNL_ERROR_UNSUPPORTED);
    assert_string_equal(rnl_last_error()->parameter, "options.dump.kinds");
    end();
}

RNL_TEST(a_source_error_has_its_line_and_the_whole_log)
{
    begin("#!/bin/sh\necho 'kernel.cu:1:2: warning: w'\n"
          "echo 'kernel.cu:3:7: error: no x here' >&2\necho '   ^'\nexit 1\n");
    assert_status(compile("source"), RNL_ERROR_COMPILE_FAILED);
    const rnl_error *error = rnl_last_error();
    assert_non_null(strstr(error->message, "kernel.cu:3:7: error: no x here"));
    assert_null(strstr(error->message, "warning"));
    assert_string_equal(error->log, "kernel.cu:1:2: warning: w\n"
                                    "kernel.cu:3:7: error: no x here\n"
                                    "   ^\n");
    end();
}

RNL_TEST(a_long_log_is_not_cut)
{
    begin("#!/bin/sh\nyes 'kernel.cu:1:1: error: again' | head -n 100000\n"
          "exit 1\n");
    assert_status(compile("source"), RNL_ERROR_COMPILE_FAILED);
    assert_int_equal(strlen(rnl_last_error()->log), 2800000);
    end();
}

RNL_TEST(a_missing_compiler_is_told_with_the_path)
{
    begin(NULL);
    test_remove("cc");
    assert_status(compile("source"), RNL_ERROR_COMPILER_UNAVAILABLE);
    assert_non_null(strstr(rnl_last_error()->message, test_path("cc")));
    end();
    char text[64];
    assert_status(cpu_compiler_identity(NULL, text, sizeof text),
                  RNL_ERROR_COMPILER_UNAVAILABLE);
}

RNL_TEST(a_compiler_that_may_not_be_run_is_missing)
{
    if (geteuid() == 0)
        begin("");
    else
        begin("#!/bin/sh\n");
    chmod(test_path("cc"), 0600);
    assert_status(compile("source"), RNL_ERROR_COMPILER_UNAVAILABLE);
    end();
}

RNL_TEST(a_compiler_that_is_no_program_is_unavailable)
{
    gives("\x7f" "ELF garbage", RNL_ERROR_COMPILER_UNAVAILABLE,
          "cannot be started");
    gives("#!/nowhere/sh\n", RNL_ERROR_COMPILER_UNAVAILABLE,
          "cannot be started");
}

RNL_TEST(a_refused_command_line_is_a_crash)
{
    gives("#!/bin/sh\necho unknown --option; exit 2\n",
          RNL_ERROR_COMPILER_CRASHED, "did not understand");
}

RNL_TEST(a_compiler_without_room_for_its_files_says_so)
{
    gives("#!/bin/sh\necho cannot write: No space; exit 6\n", RNL_ERROR_IO,
          "cannot use a file: cannot write: No space");
}

RNL_TEST(a_crash_inside_is_a_crash)
{
    gives("#!/bin/sh\necho 'runnel-cc: cannot start x: Too many open files'; "
          "exit 7\n", RNL_ERROR_COMPILER_UNAVAILABLE,
          "a limit of the system keeps the kernel compiler from running: "
          "runnel-cc: cannot start x: Too many open files");
    gives("#!/bin/sh\necho stack dump; exit 4\n", RNL_ERROR_COMPILER_CRASHED,
          "exit code 4: stack dump");
}

RNL_TEST(a_killed_compiler_is_a_crash)
{
    gives("#!/bin/sh\nkill -SEGV $$\n", RNL_ERROR_COMPILER_CRASHED,
          "signal 11");
    gives("#!/bin/sh\nkill -KILL $$\n", RNL_ERROR_COMPILER_CRASHED,
          "signal 9");
}

RNL_TEST(success_without_an_object_is_a_crash)
{
    gives("#!/bin/sh\nexit 0\n", RNL_ERROR_COMPILER_CRASHED,
          "wrote no object");
    gives(PICK "mkdir $out\n", RNL_ERROR_COMPILER_CRASHED, "wrote no object");
}

RNL_TEST(success_with_a_damaged_object_is_a_crash)
{
    gives(PICK ": >$out\n", RNL_ERROR_COMPILER_CRASHED, "damaged");
    gives(PICK "echo garbage >$out\n", RNL_ERROR_COMPILER_CRASHED, "damaged");
    gives(PICK "head -c 5000 " FAKE_OBJECT " >$out\n",
          RNL_ERROR_COMPILER_CRASHED, "damaged");
}

// --- Time ------------------------------------------------------------------

// What hangs here sleeps for 100 seconds.
#define HALF_A_SLEEP_NS UINT64_C(50000000000)

static void stops_in_time(const char *script)
{
    begin(script);
    options.timeout_ns = 300000000;
    uint64_t start = clock_now();
    assert_status(compile("source"), RNL_ERROR_COMPILER_CRASHED);
    assert_true(clock_now() - start < HALF_A_SLEEP_NS);
    assert_non_null(strstr(rnl_last_error()->message, "time limit of 0.3 s"));
    end();
}

RNL_TEST(a_hanging_compiler_is_stopped)
{
    stops_in_time("#!/bin/sh\nsleep 100\n");
}

RNL_TEST(a_hanging_compiler_that_says_no_more_is_stopped)
{
    stops_in_time("#!/bin/sh\nexec >/dev/null 2>&1\nsleep 100\n");
}

RNL_TEST(a_compiler_that_ignores_signals_is_stopped)
{
    stops_in_time("#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do sleep 1; "
                  "done\n");
}

RNL_TEST(endless_output_is_stopped)
{
    stops_in_time("#!/bin/sh\nyes endless\n");
}

RNL_TEST(children_of_a_stopped_compiler_are_gone)
{
    char script[1024];
    const char *fifo = test_path("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(script, sizeof script, "#!/bin/sh\nsleep 1000 >%s &\nwait\n",
             fifo);
    stops_in_time(script);
    // The end of the file comes when nobody has it any more.
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
    assert_int_equal(read(fd, script, 1), 0);
    close(fd);
}

RNL_TEST(a_child_left_behind_does_not_hold_us_up)
{
    begin(PICK "cp " FAKE_OBJECT " $out\nsleep 100 &\n");
    uint64_t start = clock_now();
    assert_ok(compile("source"));
    assert_true(clock_now() - start < HALF_A_SLEEP_NS);
    end();
}

RNL_TEST(a_compiler_that_closes_its_output_is_awaited)
{
    begin(PICK "exec >/dev/null 2>&1\nsleep 0.3\ncp " FAKE_OBJECT " $out\n");
    assert_ok(compile("source"));
    end();
}

// --- The host --------------------------------------------------------------

RNL_TEST(a_host_that_ignores_its_children_is_served)
{
    signal(SIGCHLD, SIG_IGN);
    begin(PICK "cp " FAKE_OBJECT " $out\n");
    assert_ok(compile("source"));
    end();
    gives("#!/bin/sh\necho 'k.cu:1: error: x'; exit 1\n",
          RNL_ERROR_COMPILE_FAILED, "k.cu:1: error: x");
    gives("#!/bin/sh\nkill -9 $$\n", RNL_ERROR_COMPILER_CRASHED,
          "wrote no object");
    stops_in_time("#!/bin/sh\nsleep 100\n");
    signal(SIGCHLD, SIG_DFL);
}

static void reap_all(int number)
{
    (void)number;
    int status, error = errno;
    while (waitpid(-1, &status, WNOHANG) > 0)
        ;
    errno = error;
}

RNL_TEST(a_host_that_reaps_every_child_is_served)
{
    signal(SIGCHLD, reap_all);
    begin(PICK "cp " FAKE_OBJECT " $out\n");
    assert_ok(compile("source"));
    end();
    signal(SIGCHLD, SIG_DFL);
}

static void nothing(int number)
{
    (void)number;
}

RNL_TEST(signals_to_the_host_do_not_disturb)
{
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval fast = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    begin(PICK "sleep 0.2\ncp " FAKE_OBJECT " $out\n");
    setitimer(ITIMER_REAL, &fast, NULL);
    rnl_status status = compile("source");
    setitimer(ITIMER_REAL, &off, NULL);
    assert_ok(status);
    end();
}

RNL_TEST(the_hosts_descriptors_are_not_the_compilers)
{
    int fd = open("/dev/null", O_RDONLY);  // inheritable on purpose
    begin("#!/bin/sh\nls -1 /proc/self/fd; exit 1\n");
    assert_status(compile("source"), RNL_ERROR_COMPILE_FAILED);
    // Standard streams, and the folder that ls reads.
    assert_string_equal(rnl_last_error()->log, "0\n1\n2\n3\n");
    end();
    close(fd);
}

RNL_TEST(the_hosts_signal_mask_is_not_the_compilers)
{
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    gives("#!/bin/sh\nkill -TERM $$\n", RNL_ERROR_COMPILER_CRASHED,
          "signal 15");
    sigprocmask(SIG_SETMASK, &old, NULL);
    signal(SIGTERM, SIG_IGN);
    gives("#!/bin/sh\nkill -TERM $$\n", RNL_ERROR_COMPILER_CRASHED,
          "signal 15");
    signal(SIGTERM, SIG_DFL);
}

RNL_TEST(closed_standard_streams_do_no_harm)
{
    begin(PICK "cp " FAKE_OBJECT " $out\necho said\n");
    pid_t child = test_fork();
    if (child == 0) {
        close(0);
        close(1);
        close(2);
        _exit(compile("source") == RNL_OK && binary.log &&
                      strcmp(binary.log, "said\n") == 0
                  ? 0
                  : 1);
    }
    assert_int_equal(test_wait(child), 0);
    end();
}

RNL_TEST(a_missing_temporary_folder_is_told)
{
    begin("#!/bin/sh\n");
    setenv("TMPDIR", "/nowhere/at/all", 1);
    assert_status(compile("source"), RNL_ERROR_IO);
    assert_non_null(strstr(rnl_last_error()->message, "/nowhere/at/all"));
    end();
}

// --- Identity --------------------------------------------------------------

static void identity(char text[128])
{
    assert_ok(cpu_compiler_identity(NULL, text, 128));
}

RNL_TEST(the_identity_changes_with_the_compiler)
{
    char first[128], second[128];
    begin("#!/bin/sh\n");
    identity(first);
    identity(second);
    assert_string_equal(first, second);
    begin("#!/bin/sh\n# another\n");
    identity(second);
    assert_string_not_equal(first, second);
}

RNL_TEST(the_identity_changes_with_the_environment)
{
    char first[128], second[128];
    begin("#!/bin/sh\n");
    identity(first);
    setenv("RUNNEL_CPU_TARGET", "haswell", 1);
    identity(second);
    assert_string_not_equal(first, second);
    unsetenv("RUNNEL_CPU_TARGET");
}

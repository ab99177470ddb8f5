// Untrusted source: the files it can read, and the resources that a compiler
// takes for it.
#include "refusal.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The log has nothing of a file that the text has no business with.
static void reads_nothing(const char *text, const char *secret)
{
    built_write(&built, "k.cu", text);
    built_make(&built, "--source @/k.cu --name k.cu --untrusted "
                       "--option -I@/headers");
    if (built.status != 1 || strstr(built.log, secret))
        fail_msg("%d: %s: %s", built.status, text, built.log);
}

static void make_files(void)
{
    char command[512];
    built_write(&built, "secret", "int word = open sesame;\n");
    built_write(&built, "k.cu", K "{ o[0] = 1; }");
    built_make(&built, "--source @/k.cu --untrusted");
    assert_int_equal(built.status, 0);
    snprintf(command, sizeof command, "mkdir -p %s/headers && "
             "echo '#define X 3' >%s/headers/x.h && "
             "ln -sf ../secret %s/headers/link.h",
             built.folder, built.folder, built.folder);
    assert_int_equal(system(command), 0);
}

RNL_TEST(untrusted_source_reads_no_other_file)
{
    static const char *const ways[] = {
        "#include \"%s/secret\"\n", "#include <%s/secret>\n",
        "#define F \"%s/secret\"\n#include F\n",
        "#include \"../../../../../../../../..%s/secret\"\n",
        "#if 1\n#include \"%s/secret\"\n#endif\n"};
    char text[1024], include[512];
    make_files();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(include, sizeof include, ways[i], built.folder);
        snprintf(text, sizeof text, "%s" K "{ o[0] = 1; }", include);
        reads_nothing(text, "sesame");
    }
    reads_nothing("#include \"link.h\"\n" K "{}", "sesame");
    reads_nothing("#include \"../secret\"\n" K "{}", "sesame");
    reads_nothing("#include \"/etc/passwd\"\n" K "{}", "root:");
    snprintf(text, sizeof text, "#line 1 \"%s/secret\"\n" K "{ o[0] = x; }",
             built.folder);
    reads_nothing(text, "sesame");
    built_close(&built);
}

RNL_TEST(untrusted_source_reads_given_headers)
{
    make_files();
    built_write(&built, "y.txt", "#define Y 4\n");
    built_write(&built, "k.cu", "#include \"x.h\"\n#include <y.h>\n"
                "#include <cuda_fp16.h>\n"
                K "{ o[0] = X * Y + (int)sinf((float)o[1]); }");
    is_taken("--source @/k.cu --untrusted --option -I@/headers "
             "--header y.h=@/y.txt");
    is_taken("--source @/k.cu --untrusted --option -I@/headers "
             "--header y.h=@/y.txt --option --tier=F");
    built_close(&built);
}

RNL_TEST(a_system_file_is_not_included_either)
{
    built_write(&built, "k.cu", "#include \"/usr/lib/os-release\"\n" K "{}");
    built_make(&built, "--source @/k.cu --name k.cu --untrusted");
    assert_int_equal(built.status, 1);
    assert_null(strstr(built.log, "PRETTY_NAME"));
    assert_non_null(strstr(built.log, "error: "));
    assert_non_null(strstr(built.log, "/usr/lib/os-release"));
    built_close(&built);
}

RNL_TEST(a_system_file_is_not_embedded)
{
    static const char *const ways[] = {
        "#embed", "# embed", "%:embed", "# /* */ embed", "#em\\\nbed",
        "#\\\n embed", "#/*\n*/embed"};
    char text[512];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(text, sizeof text, "__device__ const char c[] = {\n"
                 "%s \"/usr/lib/os-release\"\n};\n" K "{ o[0] = c[o[1]]; }",
                 ways[i]);
        built_write(&built, "k.cu", text);
        built_make(&built, "--source @/k.cu --name k.cu --untrusted");
        assert_int_equal(built.status, 1);
        assert_non_null(strstr(built.log, "k.cu: error: #embed is not allowed "
                                          "in untrusted source"));
        built_write(&built, "x.txt", text);
        built_write(&built, "k.cu", "#include \"x.h\"\n");
        built_make(&built, "--source @/k.cu --untrusted --header x.h=@/x.txt");
        assert_int_equal(built.status, 1);
        assert_non_null(strstr(built.log, "x.h: error: #embed is not allowed"));
    }
    built_write(&built, "k.cu", "// #1 embed /* */ embedding\n" K
                                "{ int embed = o[1] / 2;\n"
                                "o[0] = embed; o[1] = o[1] / embed; }");
    is_taken("--source @/k.cu --untrusted");
    built_close(&built);
}

// --- Bombs -------------------------------------------------------------------

static char *repeat(const char *before, const char *part, int count,
                    const char *after)
{
    size_t size = strlen(part);
    char *text = malloc(strlen(before) + size * (size_t)count +
                        strlen(after) + 1);
    assert_non_null(text);
    char *end = stpcpy(text, before);
    for (int i = 0; i < count; i++)
        end = stpcpy(end, part);
    strcpy(end, after);
    return text;
}

static void ends(char *text, bool compiles)
{
    built_write(&built, "k.cu", text);
    built_make(&built, "--source @/k.cu --name k.cu --untrusted "
                       "--option --tier=F --option -w");
    if (built.status != !compiles || strlen(built.log) > 70000)
        fail_msg("%d: %.100s: %.300s", built.status, text, built.log);
    free(text);
}

RNL_TEST(untrusted_bombs_end)
{
    ends(repeat("__device__ int ", "abcdefghij", 30000, ";\n" K "{}"), true);
    ends(repeat(K "{ o[0] = ", "(", 100000, "1; }"), false);
    ends(repeat(K "{ ", "{", 100000, " }"), false);
    ends(repeat("template <int N> struct t { static const int v = t<N - 1>::v; "
                "};\n", "", 0, K "{ o[0] = t<1>::v; }"), false);
    ends(repeat("#include \"k.cu\"\n", "", 0, K "{}"), false);
    ends(repeat("__device__ int big[1 << 28] = {1};\n", "", 0,
                K "{ o[0] = big[o[1]]; }"), false);
    ends(repeat(K "{ int x = 0;\n", "x = x * o[1] + 1;\n", 1000,
                "o[0] = x; }"), true);
    built_close(&built);
}

// With a lower limit of processor time, the log names the limit, not a crash of
// the compiler.
RNL_TEST(a_limit_that_is_reached_is_told)
{
    char *text = repeat(K "{ ", "", 0, "A24 }"), *all = NULL;
    for (int i = 24; i > 0; i--) {
        char line[64];
        snprintf(line, sizeof line, "#define A%d A%d A%d\n", i, i - 1, i - 1);
        all = repeat(line, text, 1, "");
        free(text);
        text = all;
    }
    all = repeat("#define A0 o[0]++;\n", text, 1, "");
    free(text);
    built_write(&built, "k.cu", all);
    free(all);
    setenv("TEST_LIMIT", "ulimit -t 2;", 1);
    built_make(&built, "--source @/k.cu --name k.cu --untrusted");
    unsetenv("TEST_LIMIT");
    assert_int_equal(built.status, 1);
    assert_non_null(strstr(built.log, "k.cu: error: the compiler was stopped"));
    assert_non_null(strstr(built.log, "untrusted source gets 30 s of"));
    built_close(&built);
}

// --- Limits of the system ----------------------------------------------------

static void told(const char *limit, int status, const char *sentence)
{
    built_write(&built, "k.cu", K "{ o[0] = 1; }");
    setenv("TEST_LIMIT", limit, 1);
    built_make(&built, "--source @/k.cu --name k.cu");
    unsetenv("TEST_LIMIT");
    if (built.status != status || !strstr(built.log, sentence))
        fail_msg("%s: %d: %s", limit, built.status, built.log);
}

RNL_TEST(a_process_that_cannot_start_says_so)
{
    told("prlimit --nofile=5:5", 7, "runnel-cc: cannot start a process: ");
    assert_non_null(strstr(built.log, "raise the limit of open files"));
    assert_null(strstr(built.log, "crashed"));
    built_close(&built);
}

RNL_TEST(a_small_stack_is_told)
{
    told("ulimit -s 64;", 7, "runnel-cc: a compiler needs a stack of 1 MiB: "
                             "raise its limit (ulimit -s)");
    told("ulimit -S -s 64;", 0, "");
    built_close(&built);
}

// Without its walls, no compiler begins; the source is not to blame.
RNL_TEST(walls_that_cannot_be_set_up_are_told)
{
    enum { CREATE = 444, RESTRICT = 446, DOMAINS = 16 };
    unsigned long long no_devices = 1 << 6;
    built_write(&built, "k.cu", K "{ o[0] = 1; }");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int i = 0; i < DOMAINS; i++) {
        int rules = (int)syscall(CREATE, &no_devices, sizeof no_devices, 0);
        if (rules < 0)
            skip();
        syscall(RESTRICT, rules, 0);
        close(rules);
    }
    built_make(&built, "--source @/k.cu --untrusted");
    assert_int_equal(built.status, 7);
    assert_string_equal(built.log,
                        "runnel-cc: cannot set up a process: Landlock: "
                        "Argument list too long; a process is in 16 domains at "
                        "most\n");
    is_taken("--source @/k.cu");
    built_close(&built);
}

// rnl_function_compile of sources that include files: the cache in memory gives
// what the files say now. The kernel compiler is a script that counts its runs.
#include "folder.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static rnl_context context;
static char first[512], second[512];  // -I folders

static void make_folder(const char *name, char *option)
{
    test_remove(name);
    assert_int_equal(mkdir(test_path(name), 0700), 0);
    snprintf(option, sizeof first, "-I%s", test_path(name));
}

static void begin(void)
{
    char script[2048];
    // A run also does what a file `while` says.
    snprintf(script, sizeof script,
             "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in --output) "
             "out=$2;; esac; shift; done\necho run >>%s\n"
             "if [ -e %s ]; then . %s; fi\ncp %s $out\n",
             test_path("runs"), test_path("while"), test_path("while"),
             FAKE_OBJECT);
    test_script("cc", script);
    test_remove("runs");
    test_remove("while");
    setenv("RUNNEL_CC", test_path("cc"), 1);
    setenv("RUNNEL_CACHE_DISABLE", "1", 1);
    make_folder("one", first);
    make_folder("two", second);
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
}

static void end(void)
{
    assert_ok(rnl_context_release(context));
    rnl_last_error_clear();
    assert_int_equal(test_held(0), 0);
}

static void put(const char *name, const char *text)
{
    test_write(name, text, strlen(text));
}

static rnl_module_options with(const char *const *options, size_t count)
{
    return (rnl_module_options){.struct_size = sizeof(rnl_module_options),
                                .options = options, .option_count = count};
}

static void compile(const char *source, const rnl_module_options *options)
{
    rnl_function function;
    assert_ok(rnl_function_compile(context, source, "first", options,
                                   &function));
    assert_ok(rnl_function_release(function));
}

// How often the compiler ran for these.
static size_t runs_of(const char *source, const rnl_module_options *options,
                      int times)
{
    size_t before = test_line_count("runs");
    for (int i = 0; i < times; i++)
        compile(source, options);
    return test_line_count("runs") - before;
}

#define EXPECT_ANEW(source, options) \
    assert_int_equal(runs_of(source, options, 3), 1)
#define EXPECT_KEPT(source, options) \
    assert_int_equal(runs_of(source, options, 3), 0)
#define EXPECT_NEVER_KEPT(source, options) \
    assert_int_equal(runs_of(source, options, 3), 3)

RNL_TEST(a_file_that_changed_is_compiled_anew)
{
    begin();
    const char *const folders[] = {first, second};
    rnl_module_options options = with(folders, 2);
    const char *source = "#include <x.h>\n";
    put("two/x.h", "#define X 1");
    EXPECT_ANEW(source, &options);
    put("two/x.h", "#define X 2");
    EXPECT_ANEW(source, &options);
    put("two/other.h", "");
    EXPECT_KEPT(source, &options);
    // As it was: that is still there.
    put("two/x.h", "#define X 1");
    EXPECT_KEPT(source, &options);
    end();
}

RNL_TEST(a_file_that_is_found_earlier_is_compiled_anew)
{
    begin();
    const char *const folders[] = {first, second};
    rnl_module_options options = with(folders, 2);
    const char *source = "#include <x.h>\n";
    put("two/x.h", "#define X 1");
    EXPECT_ANEW(source, &options);
    put("one/x.h", "#define X 3");
    EXPECT_ANEW(source, &options);
    test_remove("one");
    EXPECT_KEPT(source, &options);
    end();
}

RNL_TEST(a_file_that_is_asked_for_may_appear_later)
{
    const char *const sources[] = {
        "#if __has_include(<opt.h>)\n", "#if __has_include ( \"opt.h\" )\n",
        "#if __has_inc\\\nlude(<opt.h>)\n", "#if __has_include_next(<opt.h>)\n",
        "#if __has_embed(\"opt.h\")\n", "#embed <opt.h>\n",
        "# /* c */ include /* d */ \"opt.h\"\n", "%: include_next <opt.h>\n",
        "#import \"opt.h\"\n", "\?\?=include <opt.h>\n",
        "#include <./opt.h>\n",
    };
    begin();
    const char *const folder = first;
    rnl_module_options options = with(&folder, 1);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        EXPECT_ANEW(sources[i], &options);
        put("one/opt.h", "");
        EXPECT_ANEW(sources[i], &options);
        remove(test_path("one/opt.h"));
        EXPECT_KEPT(sources[i], &options);
    }
    end();
}

RNL_TEST(files_of_files_count_and_so_do_given_headers)
{
    begin();
    const char *const folder = first;
    rnl_module_options options = with(&folder, 1);
    const rnl_header header = {"given.h", "#include <a.h>\n"};
    options.headers = &header;
    options.header_count = 1;
    mkdir(test_path("one/deep"), 0700);
    put("one/a.h", "#include \"deep/b.h\"\n#include <a.h>\n");
    put("one/deep/b.h", "#include \"c.h\"\n");
    EXPECT_ANEW("#include <given.h>\n", &options);
    // Beside the file that names it.
    put("one/deep/c.h", "1");
    EXPECT_ANEW("#include <given.h>\n", &options);
    put("one/deep/c.h", "2");
    EXPECT_ANEW("#include <given.h>\n", &options);
    end();
}

RNL_TEST(folders_and_files_may_be_words_of_their_own)
{
    begin();
    const char *const rows[][2] = {
        {"-I", first + 2}, {"--include-path", first + 2},
        {"-include", "x.h"}, {"--pre-include=x.h", first},
    };
    for (size_t i = 0; i < 4; i++) {
        const char *words[] = {rows[i][0], rows[i][1], first};
        rnl_module_options options = with(words, 3);
        const char *source = i < 2 ? "#include <x.h>\n" : "1";
        put("one/x.h", "1");
        EXPECT_ANEW(source, &options);
        put("one/x.h", "2");
        EXPECT_ANEW(source, &options);
        put("one/x.h", "1");
        EXPECT_KEPT(source, &options);
    }
    end();
}

RNL_TEST(files_by_their_whole_path_count_without_a_folder)
{
    begin();
    char source[600];
    snprintf(source, sizeof source, "#include \"%s\"\n", test_path("one/x.h"));
    EXPECT_ANEW(source, NULL);
    put("one/x.h", "1");
    EXPECT_ANEW(source, NULL);
    put("one/x.h", "2");
    EXPECT_ANEW(source, NULL);
    end();
}

// Without a folder, too, a source may read what its own text does not tell.
RNL_TEST(files_are_not_known_without_a_folder_either)
{
    begin();
    char sources[8][600], path[512];
    snprintf(path, sizeof path, "%s", test_path("one/x.h"));
    put("one/x.h", "1");
    snprintf(sources[0], 600, "#define F \"%s\"\n#include F\n", path);
    snprintf(sources[1], 600, "#if __has_include(F)\n");
    snprintf(sources[2], 600, "#include \"./../x.h\"\n");
    snprintf(sources[3], 600, "#include <%s\\\n>\n", path);
    for (int i = 0; i < 4; i++)
        EXPECT_NEVER_KEPT(sources[i], NULL);
    snprintf(sources[4], 600, "#import \"%s\"\n", path);
    snprintf(sources[5], 600, "#include_next \"%s\"\n", path);
    snprintf(sources[6], 600, "#include /* it */ \"%s\"\n", path);
    snprintf(sources[7], 600, "#embed \"%s\"\n", path);
    for (int i = 4; i < 8; i++) {
        put("one/x.h", "1");
        EXPECT_ANEW(sources[i], NULL);
        put("one/x.h", "2");
        EXPECT_ANEW(sources[i], NULL);
    }
    end();
}

// A compiler reads on behind a byte that is 0, and names of any length.
RNL_TEST(odd_files_are_never_kept)
{
    begin();
    const char *const folder = first;
    rnl_module_options options = with(&folder, 1);
    char source[2000] = "#include <";
    static const char odd[] = "\0\n#include \"y.h\"\n";
    test_write("one/x.h", odd, sizeof odd - 1);
    EXPECT_NEVER_KEPT("#include <x.h>\n", &options);
    put("one/x.h", "1");
    for (int i = 0; i < 600; i++)
        strcat(source, "./");
    strcat(source, "x.h>\n");
    EXPECT_NEVER_KEPT(source, &options);
    end();
}

// Too much to follow is compiled each time, which is never wrong.
RNL_TEST(files_that_are_not_known_are_never_kept)
{
    begin();
    const char *const folder = first;
    const rnl_module_options options = with(&folder, 1);
    static const char *const sources[] = {
        "#define F <x.h>\n#include F\n",
        "#if __has_include(F)\n",
        "#define HAS __has_include\n#if HAS(<x.h>)\n",
        "#/**/include F\n",
        "#include <x\\\n.h>\n",
        "#include \"../x.h\"\n",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        EXPECT_NEVER_KEPT(sources[i], &options);
    end();
}

RNL_TEST(a_macro_in_a_file_makes_it_unknown)
{
    begin();
    const char *const folder = first;
    rnl_module_options options = with(&folder, 1);
    put("one/x.h", "#include MACRO\n");
    EXPECT_NEVER_KEPT("#include <x.h>\n", &options);
    put("one/x.h", "// include MACRO\n int included, important;\n");
    EXPECT_ANEW("#include <x.h>\n", &options);
    end();
}

RNL_TEST(a_file_that_changes_while_it_is_compiled_is_not_kept)
{
    begin();
    const char *const folder = first;
    rnl_module_options options = with(&folder, 1);
    char change[600];
    put("one/x.h", "1");
    snprintf(change, sizeof change, "echo 2 >%s\n", test_path("one/x.h"));
    put("while", change);
    compile("#include <x.h>\n", &options);
    remove(test_path("while"));
    put("one/x.h", "1");
    EXPECT_ANEW("#include <x.h>\n", &options);
    end();
}

// Neither files nor folders are looked at: the last line would be too much.
RNL_TEST(what_includes_nothing_is_kept_whatever_the_folders)
{
    begin();
    const char *const folder = first;
    rnl_module_options options = with(&folder, 1);
    EXPECT_ANEW("int a;\n", &options);
    test_remove("one");
    EXPECT_KEPT("int a;\n", &options);
    // A word that asks for nothing.
    EXPECT_ANEW("// to include MACRO\nint included;\n", &options);
    end();
}

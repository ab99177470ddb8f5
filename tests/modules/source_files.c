// core/includes: which files a text may read, and which texts may read any.
#include "core/module/source.h"
#include "folder.h"
#include "test.h"  // its `fail` would hide ours

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char option[512];  // -I with the folder of the files below

static void put(const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "read/%s", name);
    test_write(path, text, strlen(text));
}

static void begin(void)
{
    test_remove("read");
    assert_int_equal(mkdir(test_path("read"), 0700), 0);
    snprintf(option, sizeof option, "-I%s", test_path("read"));
    put("a.h", "#define A 1\n");
}

static rnl_module_options options_of(const char *const *words, size_t count)
{
    return (rnl_module_options){.struct_size = sizeof(rnl_module_options),
                                .options = words, .option_count = count};
}

// Whether the files that `text` reads are known; their hash.
static bool hash_of(const char *text, const rnl_module_options *options,
                    struct hash128 *out_hash)
{
    const struct source source = {.text = text, .options = options};
    return source_hash_files(&source, out_hash);
}

// Whether what `text` reads changes with the file a.h.
static bool depends(const char *text, const rnl_module_options *options)
{
    struct hash128 before, after;
    assert_true(hash_of(text, options, &before));
    put("a.h", "#define A 2\n");
    assert_true(hash_of(text, options, &after));
    put("a.h", "#define A 1\n");
    return before.low != after.low || before.high != after.high;
}

RNL_TEST(every_way_to_write_an_include_reads_the_file)
{
    static const char *const texts[] = {
        "#include \"a.h\"\n", "#include <a.h>\n", "#  include\t<a.h>\n",
        "#inc\\\nlude <a.h>\n", "#include \\\n<a.h>\n",
        "#include /* here */ <a.h>\n", "#include_next <a.h>\n",
        "#include_next \\\n /* */ <a.h>\n", "#import \"a.h\"\n",
        "#embed \"a.h\"\n", "#if __has_include(<a.h>)\n#endif\n",
        "#if __has_include( \"a.h\" )\n#endif\n", "%:include <a.h>\n",
        "?\?=include <a.h>\n", "/**/ #include <a.h>\n",
    };
    begin();
    const char *const words[] = {option};
    rnl_module_options options = options_of(words, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!depends(texts[i], &options))
            fail_msg("not read: %s", texts[i]);
    assert_false(depends("int includes;\n", &options));
}

RNL_TEST(files_of_options_are_read)
{
    begin();
    const char *const rows[][3] = {
        {option, "-include", "a.h"},
        {option, "--pre-include=a.h", "-w"},
        {option, "-include=a.h", "-w"},
        {"-w", option, "-pre-include=a.h"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rnl_module_options options = options_of(rows[i], 3);
        if (!depends("int x;\n", &options))
            fail_msg("not read: %s %s %s", rows[i][0], rows[i][1], rows[i][2]);
    }
    // A folder without its name, and another option that begins alike.
    const char *const last[] = {option, "-includes", "-I"};
    rnl_module_options options = options_of(last, 3);
    assert_false(depends("int x;\n", &options));
}

RNL_TEST(names_that_are_not_there_to_read_make_the_files_unknown)
{
    static const char *const texts[] = {
        "#define F \"a.h\"\n#include F\n", "#include MACRO(a)\n",
        "#if __has_include(F)\n#endif\n", "%:include F\n", "?\?=include F\n",
        "# /* */ include F\n", "#\\\ninclude F\n", "#include \"a.h\n",
        "#include <a.h\n", "#include \"../a.h\"\n", "#include \"..\"\n",
    };
    begin();
    const char *const words[] = {option};
    rnl_module_options options = options_of(words, 1);
    struct hash128 hash;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (hash_of(texts[i], &options, &hash))
            fail_msg("taken as known: %s", texts[i]);
}

RNL_TEST(words_that_only_look_like_includes_name_nothing)
{
    static const char *const texts[] = {
        "int include;\n", "f(include, 1);\n", "int includes = has_a;\n",
        "// include\n", "include", "#include \"\"\n", "#include <>\n",
    };
    begin();
    const char *const words[] = {option};
    rnl_module_options options = options_of(words, 1);
    struct hash128 hash;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!hash_of(texts[i], &options, &hash))
            fail_msg("taken as unknown: %s", texts[i]);
        assert_false(depends(texts[i], &options));
    }
}

// More names than a first table holds, each looked for in every folder; and the
// same name once more, which is no other file.
RNL_TEST(many_names_are_told_apart)
{
    begin();
    const char *const words[] = {option, "-I/absent"};
    rnl_module_options options = options_of(words, 2);
    char text[16384];
    size_t length = 0;
    for (int i = 0; i < 600; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "#include \"%d.h\"\n", i % 300);
    snprintf(text + length, sizeof text - length, "#include \"a.h\"\n");
    assert_true(depends(text, &options));
    struct hash128 before, after;
    assert_true(hash_of(text, &options, &before));
    put("299.h", "");
    assert_true(hash_of(text, &options, &after));
    assert_true(before.low != after.low || before.high != after.high);
}

// A name or a path that no file can have.
RNL_TEST(names_without_measure_are_no_files_or_unknown)
{
    begin();
    static char text[4096], long_option[4096];
    struct hash128 hash;
    const char *const words[] = {option};
    rnl_module_options options = options_of(words, 1);
    snprintf(text, sizeof text, "#include \"%01001d\"\n", 1);
    assert_false(hash_of(text, &options, &hash));  // not looked for
    snprintf(text, sizeof text, "#include \"%0300d\"\n", 1);
    assert_true(hash_of(text, &options, &hash));  // ENAMETOOLONG is absent
    snprintf(long_option, sizeof long_option, "-I/%02500d", 1);
    const char *const longer[] = {long_option};
    options = options_of(longer, 1);
    assert_false(hash_of("#include \"a.h\"\n", &options, &hash));
}

// What cannot be told from a file that is not there.
RNL_TEST(what_is_no_file_is_absent)
{
    static const char *const texts[] = {
        "#include \"/\"\n", "#include \"/dev/null/a.h\"\n",
        "#include \"/proc/self/mem/x\"\n",
    };
    begin();
    const char *const words[] = {option};
    rnl_module_options options = options_of(words, 1);
    struct hash128 hash;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!hash_of(texts[i], &options, &hash))
            fail_msg("taken as unknown: %s", texts[i]);
    char text[600];
    const char *loop = test_path("loop");
    assert_int_equal(symlink(loop, loop), 0);
    snprintf(text, sizeof text, "#include \"%s\"\n", loop);
    assert_true(hash_of(text, &options, &hash));
}

static int allowed;  // allocations, before one fails

static void *give(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    size_t unit = alignment < 16 ? 16 : alignment;
    return allowed-- == 0 ? NULL
                          : aligned_alloc(unit, (size + unit) / unit * unit);
}

static void take(void *memory, size_t size, void *user_data)
{
    (void)size, (void)user_data;
    free(memory);
}

RNL_TEST(a_search_without_memory_knows_nothing)
{
    begin();
    const char *const words[] = {option};
    rnl_module_options options = options_of(words, 1);
    struct hash128 hash;
    assert_int_equal(test_held(0), 0);
    assert_ok(rnl_allocator_set(RNL_ALLOCATOR(.allocate = give,
                                              .release = take)));
    int first = 0;
    do
        allowed = first++;
    while (!hash_of("#include \"a.h\"\n", &options, &hash) && first < 50);
    assert_in_range(first, 4, 49);
    allowed = -1;
    assert_int_equal(test_held(0), 0);
    assert_ok(rnl_allocator_set(NULL));
}

RNL_TEST(texts_are_closed_unless_they_may_read_a_file)
{
    const struct {
        const char *text, *option;
        bool is_closed;
    } rows[] = {
        {"int x;\n", NULL, true},
        {"int x;\n", "-I/absent", true},
        {"#include <cstdint>\n", NULL, true},
        {"#include <cstdint>\n", "-I/absent", false},
        {"#include \"/etc/x\"\n", NULL, false},
        {"#include <../x>\n", NULL, false},
        {"#include \"..x\"\n", NULL, true},
        {"int include; #include \"/x\"\n", NULL, false},
        {"#include F\n", NULL, false},
        {"int x;\n", "-include", false},
        {"int x;\n", "-include=x", false},
        {"int x;\n", "-includes", true},
        {"#import \"x\"\n", "--include-path=x", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rnl_module_options options =
            options_of(&rows[i].option, rows[i].option ? 1 : 0);
        const struct source source = {.text = rows[i].text,
                                      .options = &options};
        if (source_is_closed(&source) != rows[i].is_closed)
            fail_msg("%s with %s", rows[i].text,
                     rows[i].option ? rows[i].option : "nothing");
        const rnl_header header = {"h", rows[i].text};
        options.headers = &header;
        options.header_count = 1;
        const struct source with_header = {.text = "int x;\n",
                                           .options = &options};
        assert_int_equal(source_is_closed(&with_header), rows[i].is_closed);
    }
}

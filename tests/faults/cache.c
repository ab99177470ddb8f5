// The disk cache: damaged entries are compiled anew and never executed, a cache
// that cannot be used costs time alone. With the real compiler, counted.
#include "child.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], cache[96], counter[96], entry[512];
static char cache_variable[128], compiler_variable[128];
static const char *environment[4];

// A compiler that notes each call, and an empty cache.
static void begin(void)
{
    char text[1024], script[96];
    const char *real = child_compiler();
    child_folder(folder, sizeof folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    snprintf(counter, sizeof counter, "%s/calls", folder);
    snprintf(script, sizeof script, "%s/cc", folder);
    // Asked for its version it compiles nothing.
    snprintf(text, sizeof text,
             "case \" $* \" in *--output*) echo call >> '%s';; "
             "esac\nexec \"%s\" \"$@\"", counter, real);
    child_script(script, text);
    snprintf(cache_variable, sizeof cache_variable, "RUNNEL_CACHE_DIR=%s",
             cache);
    snprintf(compiler_variable, sizeof compiler_variable, "RUNNEL_CC=%s",
             script);
    environment[0] = cache_variable;
    environment[1] = compiler_variable;
    environment[2] = environment[3] = NULL;
}

static void end(void)
{
    child_remove(folder);
}

// The largest file below `path`: the entry of the kernel.
static long find_entry(const char *path)
{
    long most = -1;
    DIR *dir = opendir(path);
    for (struct dirent *item; dir && (item = readdir(dir));) {
        char below[512];
        struct stat facts;
        if (item->d_name[0] == '.')
            continue;
        snprintf(below, sizeof below, "%s/%s", path, item->d_name);
        if (lstat(below, &facts) != 0)
            continue;
        if (S_ISDIR(facts.st_mode)) {
            long size = find_entry(below);
            most = size > most ? size : most;
        } else if ((long)facts.st_size > most) {
            most = (long)facts.st_size;
            snprintf(entry, sizeof entry, "%s", below);
        }
    }
    if (dir)
        closedir(dir);
    return most;
}

RNL_TEST(the_second_process_compiles_nothing)
{
    begin();
    child_run(child_computes, environment);
    assert_int_equal(child_lines(counter), 1);
    assert_true(find_entry(cache) > 0);
    child_run(child_computes, environment);
    assert_int_equal(child_lines(counter), 1);
    end();
}

// Runs the kernel again, which must compute right by compiling again.
static void expect_compiled_anew(void)
{
    size_t before = child_lines(counter);
    child_run(child_computes, environment);
    assert_int_equal(child_lines(counter), before + 1);
}

RNL_TEST(a_flipped_byte_anywhere_compiles_anew)
{
    begin();
    child_run(child_computes, environment);
    long size = find_entry(cache);
    assert_true(size > 0);
    enum { PLACES = 12 };
    for (long i = 0; i < PLACES; i++) {
        assert_int_equal(find_entry(cache), size);
        long place = i == PLACES - 1 ? size - 1 : size * i / PLACES;
        FILE *file = fopen(entry, "r+");
        assert_non_null(file);
        fseek(file, place, SEEK_SET);
        int byte = fgetc(file);
        fseek(file, place, SEEK_SET);
        fputc(byte ^ 0x10, file);
        fclose(file);
        expect_compiled_anew();
    }
    end();
}

RNL_TEST(a_shortened_entry_compiles_anew)
{
    begin();
    child_run(child_computes, environment);
    long size = find_entry(cache);
    const long sizes[] = {0, 1, 64, size / 2, size - 1};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(find_entry(cache), size);
        assert_int_equal(truncate(entry, sizes[i]), 0);
        expect_compiled_anew();
    }
    end();
}

RNL_TEST(an_entry_full_of_garbage_compiles_anew)
{
    begin();
    child_run(child_computes, environment);
    assert_true(find_entry(cache) > 0);
    FILE *file = fopen(entry, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < 50000; i++)
        fputc((int)(i * 2654435761u >> 24), file);
    fclose(file);
    expect_compiled_anew();
    end();
}

RNL_TEST(an_entry_that_another_user_could_have_made_is_not_used)
{
    begin();
    child_run(child_computes, environment);
    // A folder that all may write to is not trusted.
    assert_int_equal(chmod(cache, 0777), 0);
    expect_compiled_anew();
    assert_int_equal(chmod(cache, 0700), 0);
    end();
}

RNL_TEST(a_cache_that_cannot_be_made_is_no_error)
{
    begin();
    const char *const places[] = {"/dev/null/cache", "/proc/cache", "/dev/null",
                                  "relative/cache"};
    for (int i = 0; i < 4; i++) {
        snprintf(cache_variable, sizeof cache_variable, "RUNNEL_CACHE_DIR=%s",
                 places[i]);
        expect_compiled_anew();
    }
    end();
}

RNL_TEST(without_a_home_nothing_is_written)
{
    begin();
    environment[0] = "HOME";
    environment[2] = "XDG_CACHE_HOME";
    unsetenv("RUNNEL_CACHE_DIR");
    expect_compiled_anew();
    expect_compiled_anew();
    end();
}

RNL_TEST(a_disabled_cache_is_left_alone)
{
    begin();
    environment[2] = "RUNNEL_CACHE_DISABLE=1";
    expect_compiled_anew();
    expect_compiled_anew();
    assert_int_equal(find_entry(cache), -1);
    end();
}

static int compiles_twice(void)
{
    rnl_context context = NULL;
    rnl_function a = NULL, b = NULL;
    const char *source = "extern \"C\" __global__ void f() {}\n";
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    CHECK(rnl_function_compile(context, source, "f", NULL, &a) == RNL_OK);
    CHECK(rnl_function_compile(context, source, "f", NULL, &b) == RNL_OK);
    return 0;
}

RNL_TEST(the_memory_cache_works_without_the_disk)
{
    begin();
    environment[2] = "RUNNEL_CACHE_DISABLE=1";
    child_run(compiles_twice, environment);
    assert_int_equal(child_lines(counter), 1);
    end();
}

#include "child.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

void child_folder(char *path, size_t size)
{
    snprintf(path, size, "/tmp/runnel-faults-XXXXXX");
    assert_non_null(mkdtemp(path));
}

void child_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[512];
        struct stat facts;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
            child_remove(path);
        else
            unlink(path);
    }
    closedir(dir);
    rmdir(folder);
}

void child_script(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    fclose(file);
    assert_int_equal(chmod(path, 0700), 0);
}

size_t child_lines(const char *path)
{
    size_t lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file)
        fclose(file);
    return lines;
}

void child_run(int (*body)(void), const char *const *environment)
{
    pid_t pid = test_fork();
    if (pid == 0) {
        for (; *environment; environment++) {
            if (strchr(*environment, '='))
                putenv((char *)*environment);
            else
                unsetenv(*environment);
        }
        _exit(body());
    }
    int status = test_wait(pid);
    if (status < 0)
        fail_msg("the process was ended by signal %d", -status);
    assert_int_equal(status, 0);
}

static const char source[] =
    "extern \"C\" __global__ void triple(int *data) {\n"
    "    data[threadIdx.x] = 3 * (int)threadIdx.x;\n"
    "}\n";

int child_computes(void)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    int values[64] = {0};
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    CHECK(rnl_context_default_stream(context, &stream) == RNL_OK);
    CHECK(rnl_buffer_create(context, sizeof values, NULL, &buffer) == RNL_OK);
    CHECK(rnl_module_compile(context, source, NULL, &module) == RNL_OK);
    CHECK(rnl_module_function(module, "triple", &function) == RNL_OK);
    CHECK(rnl_enqueue_function(stream, function,
                               RNL_LAUNCH(.grid = {1}, .block = {64}),
                               RNL_ARGS(buffer)) == RNL_OK);
    CHECK(rnl_copy_from_buffer_and_wait(stream, values, buffer, 0,
                                        sizeof values) == RNL_OK);
    for (int i = 0; i < 64; i++)
        CHECK(values[i] == 3 * i);
    return 0;
}

int child_still_works(rnl_context context)
{
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    int value = 0;
    CHECK(rnl_context_default_stream(context, &stream) == RNL_OK);
    CHECK(rnl_buffer_create(context, 4, NULL, &buffer) == RNL_OK);
    CHECK(rnl_enqueue_fill(stream, buffer, 0, 4, 9, 4) == RNL_OK);
    CHECK(rnl_copy_from_buffer_and_wait(stream, &value, buffer, 0, 4) ==
          RNL_OK);
    CHECK(value == 9);
    CHECK(rnl_buffer_release(buffer) == RNL_OK);
    CHECK(rnl_context_release(context) == RNL_OK);
    return 0;
}

const char *child_compiler(void)
{
    const char *compiler = getenv("RUNNEL_CC");
    if (!compiler || access(compiler, X_OK) != 0)
        test_skip("RUNNEL_CC names no kernel compiler");
    return compiler;
}

// Source of a file, which includes what lies beside it.
#include "base/file.h"
#include "base/text.h"
#include "core/module/module.h"
#include "core/module/source.h"
#include "core/object/check.h"

#include <errno.h>
#include <string.h>

#define SOURCE_SIZE_MAX ((size_t)256 << 20)

struct source_file {
    const char *path;
    char *text;  // with an end
    size_t text_room;
    const char **options;  // -I and the file's folder, then the caller's
    size_t options_room;
    char *folder_option;
    size_t folder_room;
};

static void finish(struct source_file *file)
{
    mem_release(file->text, file->text_room);
    mem_release(file->options, file->options_room);
    mem_release(file->folder_option, file->folder_room);
}

static rnl_status refuse_memory(const struct source_file *file)
{
    return fail_at(RNL_ERROR_OUT_OF_MEMORY, "path",
                   "there is no memory to compile %s", file->path);
}

static rnl_status refuse_read(const struct source_file *file, int error)
{
    if (error == ENOMEM)
        return refuse_memory(file);
    fail_at(RNL_ERROR_IO, "path", "%s cannot be read: %s", file->path,
            error == EFBIG ? "it has more than 256 MiB" : strerror(error));
    fail_set_native(error, strerror(error));
    return RNL_ERROR_IO;
}

// A zero would end the text early.
static rnl_status take_text(struct source_file *file, const void *data,
                            size_t size)
{
    const char *zero = size ? memchr(data, 0, size) : NULL;
    if (zero)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "path",
                       "%s is no source text: byte %zu is zero. Ready binaries "
                       "are loaded by rnl_module_load_file",
                       file->path, (size_t)(zero - (const char *)data));
    file->text_room = size + 1;
    file->text = mem_allocate(file->text_room);
    if (!file->text)
        return refuse_memory(file);
    if (size)
        memcpy(file->text, data, size);
    file->text[size] = 0;
    return RNL_OK;
}

static rnl_status read_text(struct source_file *file)
{
    void *data = NULL;
    size_t size = 0;
    int error = file_read_path(file->path, SOURCE_SIZE_MAX, &data, &size);
    if (error)
        return refuse_read(file, error);
    rnl_status status = take_text(file, data, size);
    mem_release(data, size);
    return status;
}

// The file's folder comes first, so that a file there hides one of the same
// name in other folders.
static rnl_status make_options(struct source_file *file,
                               rnl_module_options *options)
{
    const char *slash = strrchr(file->path, '/');
    size_t length = slash ? (size_t)(slash - file->path) + 1 : 1;
    size_t count = options->option_count;
    file->folder_room = length + 3;
    file->folder_option = mem_allocate(file->folder_room);
    file->options_room = (count + 1) * sizeof *file->options;
    file->options = mem_allocate(file->options_room);
    if (!file->folder_option || !file->options)
        return refuse_memory(file);
    memcpy(file->folder_option, "-I", 2);
    memcpy(file->folder_option + 2, slash ? file->path : ".", length);
    file->folder_option[length + 2] = 0;
    file->options[0] = file->folder_option;
    if (count)
        memcpy(file->options + 1, options->options,
               count * sizeof *file->options);
    options->options = file->options;
    options->option_count = count + 1;
    if (!options->name || !options->name[0])
        options->name = file->path;
    options->struct_size = sizeof *options;
    return RNL_OK;
}

static rnl_status check_path(const char *path)
{
    rnl_status status = check_pointer(path, "path");
    if (status == RNL_OK && !path[0])
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "path",
                         "'path' is empty: it has to name a file");
    return status;
}

// The caller's options are checked before the file is read.
static rnl_status compile_file(rnl_context context, const char *path,
                               const rnl_module_options *given,
                               rnl_module *out_module)
{
    struct source_file file = {.path = path};
    rnl_module_options options, read;
    struct source source;
    rnl_status status =
        options_read(&options, sizeof options, given, "options");
    if (status == RNL_OK)
        status = source_check("", given, &read, &source);
    if (status == RNL_OK)
        status = read_text(&file);
    if (status == RNL_OK)
        status = make_options(&file, &options);
    if (status == RNL_OK)
        status = source_check(file.text, &options, &read, &source);
    if (status == RNL_OK)
        status = module_compile_source(context, &source, out_module);
    finish(&file);
    return status;
}

rnl_status rnl_module_compile_file(rnl_context context, const char *path,
                                   const rnl_module_options *options,
                                   rnl_module *out_module)
{
    struct context *checked = NULL;
    CALL status = ENTER();
    if (status == RNL_OK)
        status = check_context(context, "context", &checked);
    if (status == RNL_OK)
        status = check_path(path);
    if (status == RNL_OK)
        status = check_pointer(out_module, "out_module");
    return status == RNL_OK ? compile_file(context, path, options, out_module)
                            : status;
}

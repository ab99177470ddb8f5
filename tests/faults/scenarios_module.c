// Modules, while faults are injected.
#include "sweep.h"
#include "folder.h"

#include <unistd.h>

static const char source[] =
    "__constant__ int factor;\n"
    "__device__ int total;\n"
    "extern \"C\" __global__ void scale(int *data, int count) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < count) data[i] *= factor;\n"
    "}\n";

static rnl_status module_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_module module = NULL, again = NULL;
    rnl_function function = NULL;
    rnl_buffer buffer = NULL, total = NULL;
    const void *data = NULL;
    size_t size = 0;
    static int values[4];
    int factor = 6;
    for (int i = 0; i < 4; i++)
        values[i] = i + 1;
    const rnl_constant constant = {"factor", &factor, sizeof factor};
    static rnl_compiler_info compiler = {.struct_size = sizeof compiler};
    TRY(sweep_open(&context));
    TRY(rnl_compiler_get_info(context, &compiler));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_module_compile(context, source, NULL, &module));
    TRY(rnl_module_binary(module, &data, &size));
    TRY(rnl_module_load(context, data, size, "again", &again));
    TRY(rnl_module_function(again, "scale", &function));
    TRY(rnl_module_global(again, "total", &total));
    TRY(rnl_buffer_create(context, sizeof values, NULL, &buffer));
    TRY(rnl_copy_to_buffer_and_wait(stream, buffer, 0, values,
                                    sizeof values));
    TRY(rnl_enqueue_function(stream, function,
                             RNL_LAUNCH(.grid = {1}, .block = {4},
                                        .constants = &constant,
                                        .constant_count = 1),
                             RNL_ARGS(buffer, 4)));
    TRY(rnl_copy_from_buffer_and_wait(stream, values, buffer, 0,
                                      sizeof values));
    EXPECT(values[3] == 24);
    RELEASE(rnl_buffer_release(buffer));
    RELEASE(rnl_buffer_release(total));
    RELEASE(rnl_function_release(function));
    RELEASE(rnl_module_release(again));
    RELEASE(rnl_module_release(module));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status one_step_life(void)
{
    static const char *const names[] = {"-DX=1"};
    static const char template_source[] =
        "template <int N> __global__ void put(int *p) { *p = N; }\n";
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_function first = NULL, second = NULL;
    rnl_buffer buffer = NULL;
    static int value;
    const rnl_module_options *options =
        RNL_MODULE_OPTIONS(.options = names, .option_count = 1);
    TRY(sweep_open(&context));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_buffer_create(context, 4, NULL, &buffer));
    TRY(rnl_function_compile(context, template_source, "put<5>", options,
                             &first));
    TRY(rnl_function_compile(context, template_source, "put<5>", options,
                             &second));
    TRY(rnl_enqueue_function(stream, second,
                             RNL_LAUNCH(.grid = {1}, .block = {1}),
                             RNL_ARGS(buffer)));
    TRY(rnl_copy_from_buffer_and_wait(stream, &value, buffer, 0, 4));
    EXPECT(value == 5);
    RELEASE(rnl_buffer_release(buffer));
    RELEASE(rnl_function_release(first));
    RELEASE(rnl_function_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

// The compiler's complaint is whole, or the call says that memory was short.
static rnl_status broken_source_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_module module = NULL;
    TRY(sweep_open(&context));
    if (status == RNL_OK) {
        TRY(rnl_module_compile(context, "int x = ;\n", NULL, &module));
        status = status == RNL_ERROR_COMPILE_FAILED ? RNL_OK : status;
        EXPECT(!module);
        const char *log = rnl_last_error()->log;
        EXPECT(log && strstr(log, "kernel.cu:1:") && strstr(log, "^"));
    }
    RELEASE(rnl_context_release(context));
    return status;
}

// A binary, made without faults; the sweeps load it.
static unsigned char binary[1 << 20];
static size_t binary_size;

static void make_binary(void)
{
    rnl_context context = NULL;
    rnl_module module = NULL;
    const void *data = NULL;
    assert_ok(sweep_open(&context));
    assert_ok(rnl_module_compile(context, source, NULL, &module));
    assert_ok(rnl_module_binary(module, &data, &binary_size));
    assert_true(binary_size <= sizeof binary);
    memcpy(binary, data, binary_size);
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_context_release(context));
    sweep_expect_empty();
}

static rnl_status load_binaries(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_module modules[3] = {0};
    rnl_function function = NULL;
    rnl_buffer factor = NULL;
    const int six = 6;
    int values[4] = {0};
    for (int i = 0; i < 3; i++)
        TRY(rnl_module_load(t->context, binary, binary_size, "loaded", &modules[i]));
    TRY(rnl_module_function(modules[1], "scale", &function));
    TRY(rnl_module_global(modules[1], "factor", &factor));
    TRY(rnl_copy_to_buffer_and_wait(t->stream, factor, 0, &six, 4));
    TRY(rnl_fill_and_wait(t->stream, t->buffer, 0, 256, 7, 4));
    TRY(rnl_enqueue_function(t->stream, function,
                             RNL_LAUNCH(.grid = {1}, .block = {4}),
                             RNL_ARGS(t->buffer, 4)));
    TRY(rnl_copy_from_buffer_and_wait(t->stream, values, t->buffer, 0,
                                      sizeof values));
    EXPECT(values[3] == 42);
    RELEASE(rnl_buffer_release(factor));
    RELEASE(rnl_function_release(function));
    for (int i = 0; i < 3; i++)
        RELEASE(rnl_module_release(modules[i]));
    return status;
}

static rnl_status load_file(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_module module = NULL;
    rnl_function function = NULL;
    char path[] = "/tmp/runnel-sweep-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, binary, binary_size), binary_size);
    close(fd);
    TRY(rnl_module_load_file(t->context, path, &module));
    TRY(rnl_module_function(module, "scale", &function));
    unlink(path);
    RELEASE(rnl_function_release(function));
    RELEASE(rnl_module_release(module));
    return status;
}

// Refused, by the call that is given it.
static rnl_status refuse_binaries(struct sweep_set *t)
{
    static char damaged[sizeof binary];
    rnl_status status = RNL_OK;
    rnl_module module = NULL;
    memcpy(damaged, binary, binary_size);
    memset(damaged, 0x5a, binary_size / 2);
    TRY(rnl_module_load(t->context, damaged, binary_size, NULL, &module));
    status = status == RNL_ERROR_INVALID_BINARY ? RNL_OK : status;
    EXPECT(!module);
    TRY(rnl_module_load_file(t->context, "/nowhere/at.all", &module));
    status = status == RNL_ERROR_NOT_FOUND || status == RNL_ERROR_IO ? RNL_OK
                                                                     : status;
    EXPECT(!module);
    return status;
}

// Names that are looked up, with headers and a log.
static rnl_status named_kernels(struct sweep_set *t)
{
    static const char text[] =
        "#include \"scale.h\"\n"
        "template <typename T> __global__ void put(T *p) { *p = SCALE; }\n";
    static const char *const names[] = {"put<int>", "put<float>"};
    static const rnl_header headers[] = {{"scale.h", "#define SCALE 3\n"}};
    rnl_status status = RNL_OK;
    rnl_module module = NULL;
    rnl_function functions[2] = {0};
    const char *log = NULL;
    TRY(rnl_module_compile(
        t->context, text,
        RNL_MODULE_OPTIONS(.name = "named.cu", .headers = headers,
                           .header_count = 1, .name_expressions = names,
                           .name_expression_count = 2, .label = "named"),
        &module));
    TRY(rnl_module_log(module, &log));
    for (int i = 0; i < 2; i++)
        TRY(rnl_module_function(module, names[i], &functions[i]));
    TRY(rnl_enqueue_function(t->stream, functions[1],
                             RNL_LAUNCH(.grid = {1}, .block = {1}),
                             RNL_ARGS(t->buffer)));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    for (int i = 0; i < 2; i++)
        RELEASE(rnl_function_release(functions[i]));
    RELEASE(rnl_module_release(module));
    return status;
}

static bool count_text(const rnl_dump_text *text, void *user_data)
{
    *(int *)user_data += strstr(text->text, "scale") != NULL;
    return true;
}

// A text is whole, or the call that compiles fails.
static rnl_status dumped_module(struct sweep_set *t)
{
    // hiprtc shows nothing of its work.
    if (strncmp(test_device_name(), "hip", 3) == 0)
        return RNL_OK;
    rnl_status status = RNL_OK;
    rnl_module module = NULL;
    int count = 0;
    char path[] = "/tmp/runnel-sweep-XXXXXX";
    int fd = mkstemp(path);
    TRY(rnl_module_compile(
        t->context, source,
        RNL_MODULE_OPTIONS(.binary_only = true,
                           .dump = RNL_DUMP(.path = path, .write = count_text,
                                            .user_data = &count)), &module));
    EXPECT(count >= 1);  // once more where loading failed behind it
    EXPECT(lseek(fd, 0, SEEK_END) > 0);
    close(fd);
    unlink(path);
    RELEASE(rnl_module_release(module));
    return status;
}

static rnl_status listed_kernels(struct sweep_set *t)
{
    static const rnl_code_kind kinds[] = {RNL_CODE_OBJECT, RNL_CODE_CUBIN};
    rnl_status status = RNL_OK;
    rnl_module module = NULL;
    rnl_function functions[2] = {0};
    const void *code = NULL;
    size_t count = 0, size = 0, found = 0;
    TRY(rnl_module_load(t->context, binary, binary_size, "listed", &module));
    TRY(rnl_module_get_functions(module, functions, 2, &count));
    EXPECT(count == 1 && functions[0] && !functions[1]);
    for (int i = 0; status == RNL_OK && i < 2; i++)
        found += rnl_module_native_code(module, kinds[i], &code, &size) ==
                 RNL_OK;
    EXPECT(found == 1 && size > 0);
    RELEASE(rnl_function_release(functions[0]));
    RELEASE(rnl_module_release(module));
    return status;
}

// Blocks that run together, whose memory is made for the launch.
static rnl_status clustered_kernels(struct sweep_set *t)
{
    static const char text[] =
        "#include <cooperative_groups.h>\n"
        "__global__ void __cluster_dims__(4) turn(int *out) {\n"
        "    __shared__ int rank;\n"
        "    auto cluster = cooperative_groups::this_cluster();\n"
        "    rank = cluster.block_rank();\n"
        "    cluster.sync();\n"
        "    out[blockIdx.x] += *cluster.map_shared_rank(&rank, 3 - rank);\n"
        "    cluster.sync();\n"
        "}\n";
    rnl_status status = RNL_OK;
    rnl_module module = NULL;
    rnl_function function = NULL;
    TRY(rnl_module_compile(t->context, text, NULL, &module));
    TRY(rnl_module_function(module, "turn", &function));
    TRY(rnl_enqueue_function(t->stream, function,
                             RNL_LAUNCH(.grid = {8}, .block = {40}),
                             RNL_ARGS(t->buffer)));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    RELEASE(rnl_function_release(function));
    RELEASE(rnl_module_release(module));
    return status;
}

static void make_kernel_file(void)
{
    make_binary();
    test_write("a.cu", source, strlen(source));
}

// From a file, then embedded as source and as an object.
static rnl_status kernel_files(struct sweep_set *t)
{
    static const char *const options[] = {"-DX=1"};
    rnl_status status = RNL_OK;
    rnl_module module = NULL, compiled = NULL, loaded = NULL;
    const rnl_embedded_object objects[] = {{"none", "no binary", 9},
                                           {"this", binary, binary_size}};
    TRY(rnl_module_compile_file(t->context, test_path("a.cu"),
                                RNL_MODULE_OPTIONS(.options = options,
                                                   .option_count = 1),
                                &module));
    TRY(rnl_module_load_embedded(t->context,
                                 RNL_EMBEDDED(.name = "a.cu",
                                              .source = source,
                                              .objects = objects,
                                              .object_count = 1),
                                 &compiled));
    TRY(rnl_module_load_embedded(t->context,
                                 RNL_EMBEDDED(.name = "a.cu",
                                              .objects = objects,
                                              .object_count = 2),
                                 &loaded));
    RELEASE(rnl_module_release(module));
    RELEASE(rnl_module_release(compiled));
    RELEASE(rnl_module_release(loaded));
    return status;
}

const struct scenario module_scenarios[] = {
    {"modules", module_life, NULL, {RNL_FEATURE_COMPILE}},
    {"one-step compiles", one_step_life, NULL, {RNL_FEATURE_COMPILE}},
    {"compile errors", broken_source_life, NULL, {RNL_FEATURE_COMPILE}},
    {"named kernels", NULL, named_kernels, {RNL_FEATURE_COMPILE}},
    {"clustered kernels", NULL, clustered_kernels,
     {RNL_FEATURE_COMPILE, RNL_FEATURE_CLUSTERS}},
    {"binaries", NULL, load_binaries, {RNL_FEATURE_COMPILE},
     make_binary},
    {"dumps", NULL, dumped_module, {RNL_FEATURE_COMPILE}},
    {"lists of kernels", NULL, listed_kernels, {RNL_FEATURE_COMPILE},
     make_binary},
    {"files of binaries", NULL, load_file, {RNL_FEATURE_COMPILE},
     make_binary},
    {"kernel files", NULL, kernel_files, {RNL_FEATURE_COMPILE},
     make_kernel_file},
    {"damaged binaries", NULL, refuse_binaries, {RNL_FEATURE_COMPILE},
     make_binary},
    {0},
};

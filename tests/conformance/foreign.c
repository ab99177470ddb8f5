// Contexts of others, which Runnel adopts. The owner calls the driver itself,
// the one that Runnel uses.
#include "suite.h"

#include <dlfcn.h>
#include <stdatomic.h>

enum { SIZE = 256 };

typedef int create_fn(void **out_context, unsigned flags, int device);
typedef int context_fn(void *context);
typedef int find_fn(void **out_context);
typedef int stream_fn(void **out_stream, unsigned flags, int priority);

static struct {
    create_fn *create;
    context_fn *destroy, *set, *stream_destroy;
    find_fn *current;
    stream_fn *stream;
} driver;

static _Atomic int deleted;
static void *the_context;

static void *load(void)
{
    const char *given = getenv("RUNNEL_CUDA");
    void *library = dlopen(given ? given : "libcuda.so.1",
                           RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&driver.create = dlsym(library, "cuCtxCreate_v2");
    *(void **)&driver.destroy = dlsym(library, "cuCtxDestroy_v2");
    *(void **)&driver.set = dlsym(library, "cuCtxSetCurrent");
    *(void **)&driver.current = dlsym(library, "cuCtxGetCurrent");
    *(void **)&driver.stream = dlsym(library, "cuStreamCreateWithPriority");
    *(void **)&driver.stream_destroy = dlsym(library, "cuStreamDestroy_v2");
    assert_non_null(*(void **)&driver.create);
    assert_non_null(*(void **)&driver.stream_destroy);
    return library;
}

static void need_cuda(void)
{
    if (strcmp(suite_api(), "cuda") != 0)
        test_skip("only for cuda");
    suite_context();  // from then on the driver is there
}

// Another context of the device, which is not current afterwards.
static void *make_context(void)
{
    void *context = NULL;
    load();
    assert_int_equal(driver.create(&context, 0, (int)suite_index()), 0);
    assert_int_equal(driver.set(NULL), 0);
    atomic_store(&deleted, 0);
    return context;
}

static void count_deleted(void *pointer, size_t size, void *user_data)
{
    assert_int_equal(size, 0);
    assert_ptr_equal(pointer, the_context);
    atomic_fetch_add((_Atomic int *)user_data, 1);
}

static rnl_context adopt(void *native)
{
    rnl_context context = NULL;
    the_context = native;
    expect_ok(rnl_context_adopt(
        "cuda", native,
        RNL_CONTEXT_OPTIONS(.label = "adopted", .deleter = count_deleted,
                            .user_data = &deleted), &context));
    return context;
}

static void await_deleter(void)
{
    while (atomic_load(&deleted) == 0)
        rnl_trim(NULL);
    assert_int_equal(atomic_load(&deleted), 1);
}

static void expect_current(void *expected)
{
    void *current = &current;
    assert_int_equal(driver.current(&current), 0);
    assert_ptr_equal(current, expected);
}

static void work_in(rnl_context context)
{
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL, far = suite_new_buffer(SIZE);
    int ints[SIZE / 4] = {0};
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_create(context, SIZE, NULL, &buffer));
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, SIZE, 41, 4));
    if (rnl_context_supports(context, RNL_FEATURE_COMPILE, NULL) == RNL_OK) {
        rnl_function function = NULL;
        expect_ok(rnl_function_compile(
            context,
            "extern \"C\" __global__ void add(int *p) { "
            "p[threadIdx.x] += 1; }", "add", NULL, &function));
        expect_ok(rnl_enqueue_function(
            stream, function, RNL_LAUNCH(.grid = {1}, .block = {SIZE / 4}),
            RNL_ARGS(buffer)));
        expect_ok(rnl_function_release(function));
    } else {
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, SIZE, 42, 4));
    }
    // To the primary context of the device, and from there.
    expect_ok(rnl_enqueue_copy_buffer(stream, far, 0, buffer, 0, SIZE));
    expect_ok(rnl_enqueue_wait_stream(suite_stream(), stream));
    expect_ok(rnl_copy_from_buffer_and_wait(suite_stream(), ints, far, 0,
                                            SIZE));
    for (int i = 0; i < SIZE / 4; i++)
        assert_int_equal(ints[i], 42);
    expect_ok(rnl_buffer_release(far));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(an_adopted_context_is_worked_in_and_stays)
{
    void *native = NULL, *got = NULL;
    rnl_device device = NULL;
    need_cuda();
    native = make_context();
    rnl_context context = adopt(native);
    expect_current(NULL);
    expect_ok(rnl_context_native(context, &got));
    assert_ptr_equal(got, native);
    expect_ok(rnl_context_device(context, &device));
    assert_ptr_equal(device, suite_device());
    work_in(context);
    assert_int_equal(atomic_load(&deleted), 0);
    expect_ok(rnl_context_release(context));
    await_deleter();
    expect_current(NULL);
    // Nothing of it is left, and it is as good as before.
    context = adopt(native);
    atomic_store(&deleted, 0);
    expect_ok(rnl_context_release(context));
    await_deleter();
    assert_int_equal(driver.destroy(native), 0);
}

RNL_TEST(the_deleter_of_a_context_waits_for_its_work)
{
    need_cuda();
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    void *native = make_context();
    rnl_context context = adopt(native);
    rnl_stream stream = NULL;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
    assert_int_equal(atomic_load(&deleted), 0);
    gate_open(gate);
    await_deleter();
    gate_free(gate);
    assert_int_equal(driver.destroy(native), 0);
}

// Without a deleter: rnl_trim tells when all is over.
RNL_TEST(contexts_of_the_owner_may_be_adopted_often)
{
    rnl_context contexts[3];
    need_cuda();
    void *native = make_context();
    for (int i = 0; i < 3; i++)
        expect_ok(rnl_context_adopt("cuda", native, NULL, &contexts[i]));
    for (int i = 0; i < 3; i++) {
        work_in(contexts[i]);
        expect_ok(rnl_context_release(contexts[i]));
    }
    suite_end();
    assert_int_equal(driver.destroy(native), 0);
}

RNL_TEST(streams_of_an_adopted_context_are_borrowed_there)
{
    void *native = NULL, *lent = NULL;
    rnl_stream stream = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    need_cuda();
    native = make_context();
    assert_int_equal(driver.set(native), 0);
    assert_int_equal(driver.stream(&lent, 1, -2), 0);
    assert_int_equal(driver.set(NULL), 0);
    rnl_context context = adopt(native);
    expect_error(rnl_stream_borrow(suite_context(), lent, NULL, &stream),
                 RNL_ERROR_INVALID_HANDLE, "native");
    expect_ok(rnl_stream_borrow(context, lent, NULL, &stream));
    expect_ok(rnl_stream_get_info(stream, &info));
    assert_int_equal(info.priority, -2);
    assert_int_equal(info.flags, RNL_STREAM_NON_BLOCKING);
    assert_ptr_equal(info.context, context);
    rnl_buffer buffer = NULL;
    expect_ok(rnl_enqueue_buffer_create(stream, SIZE, NULL, &buffer));
    expect_ok(rnl_fill_and_wait(stream, buffer, 0, SIZE, 3, 4));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
    await_deleter();
    assert_int_equal(driver.set(native), 0);
    assert_int_equal(driver.stream_destroy(lent), 0);
    assert_int_equal(driver.destroy(native), 0);
    driver.set(NULL);
}

RNL_TEST(a_primary_context_is_adopted_too)
{
    void *native = NULL;
    need_cuda();
    expect_ok(rnl_context_native(suite_context(), &native));
    load();
    atomic_store(&deleted, 0);
    rnl_context context = adopt(native);
    work_in(context);
    expect_ok(rnl_context_release(context));
    await_deleter();
    work_in(suite_context());
}

RNL_TEST(a_context_that_is_none_is_not_adopted)
{
    rnl_context context = NULL;
    need_cuda();
    void *native = make_context();
    assert_int_equal(driver.destroy(native), 0);
    if (suite_driver_is_old())
        test_skip("the driver does not tell");
    expect_error(rnl_context_adopt("cuda", native,
                                   RNL_CONTEXT_OPTIONS(.deleter =
                                                           count_deleted),
                                   &context),
                 RNL_ERROR_INVALID_ARGUMENT, "native");
    assert_null(context);
}

SUITE_CHILD(child_adopts_of_a_hidden_device)
{
    rnl_context context = NULL;
    size_t count = 0;
    expect_ok(rnl_device_count("cuda", &count));
    if (count > 0)
        load();
    void *native = &context;
    if (count > 0) {
        assert_int_equal(driver.create(&native, 0, 0), 0);
        assert_int_equal(driver.set(NULL), 0);
    }
    expect_error(rnl_context_adopt("cuda", native, NULL, &context),
                 RNL_ERROR_NO_DEVICE, NULL);
    assert_null(context);
    suite_expect_empty();
    if (count > 0)
        assert_int_equal(driver.destroy(native), 0);
}

RNL_TEST(a_context_of_a_hidden_device_is_not_adopted)
{
    const char *const environment[] = {"RUNNEL_FAKE_DEVICES=2",
                                       "RUNNEL_DEVICES=cuda:1", NULL};
    need_cuda();
    assert_int_equal(suite_spawn("child_adopts_of_a_hidden_device",
                                 environment), 0);
}

RNL_TEST(adopting_is_checked)
{
    rnl_context context = NULL;
    int other;
    expect_error(rnl_context_adopt(suite_api(), NULL, NULL, &context),
                 RNL_ERROR_INVALID_ARGUMENT, "native");
    expect_error(rnl_context_adopt(NULL, &other, NULL, &context),
                 RNL_ERROR_INVALID_ARGUMENT, "api");
    expect_error(rnl_context_adopt(suite_api(), &other, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_context");
    expect_error(rnl_context_adopt("vulcan", &other, NULL, &context),
                 RNL_ERROR_NOT_FOUND, "api");
    expect_error(rnl_context_adopt("cpu", &other, NULL, &context),
                 RNL_ERROR_UNSUPPORTED, "api");
    expect_error(rnl_context_open(suite_api(), suite_index(),
                                  RNL_CONTEXT_OPTIONS(.deleter =
                                                          count_deleted),
                                  &context),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(context);
}

// --- Green contexts ----------------------------------------------------------

enum { RESOURCE = 512, OF_MULTIPROCESSORS = 1, WITH_DEFAULT_STREAM = 1 };

static void *find(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (!address)
        test_skip("the driver has no green contexts");
    return address;
}

RNL_TEST(a_green_context_is_adopted)
{
    _Alignas(16) char all[RESOURCE] = {0}, some[RESOURCE] = {0};
    int (*resource)(int device, void *out, int type);
    int (*split)(void *out, unsigned *groups, const void *from, void *rest,
                 unsigned flags, unsigned least);
    int (*describe)(void **out, void *resources, unsigned count);
    int (*create)(void **out, void *description, int device, unsigned flags);
    int (*as_context)(void **out, void *green);
    int (*destroy)(void *green);
    void *description = NULL, *green = NULL, *native = NULL;
    unsigned groups = 1;
    need_cuda();
    void *library = load();
    int device = (int)suite_index();
    *(void **)&resource = find(library, "cuDeviceGetDevResource");
    *(void **)&split = find(library, "cuDevSmResourceSplitByCount");
    *(void **)&describe = find(library, "cuDevResourceGenerateDesc");
    *(void **)&create = find(library, "cuGreenCtxCreate");
    *(void **)&as_context = find(library, "cuCtxFromGreenCtx");
    *(void **)&destroy = find(library, "cuGreenCtxDestroy");
    assert_int_equal(resource(device, all, OF_MULTIPROCESSORS), 0);
    assert_int_equal(split(some, &groups, all, NULL, 0, 16), 0);
    assert_int_equal(describe(&description, some, 1), 0);
    assert_int_equal(create(&green, description, device, WITH_DEFAULT_STREAM),
                     0);
    assert_int_equal(as_context(&native, green), 0);
    atomic_store(&deleted, 0);
    rnl_context context = adopt(native);
    work_in(context);
    rnl_stream legacy = NULL;
    expect_ok(rnl_stream_borrow(context, RNL_NATIVE_LEGACY, NULL, &legacy));
    expect_ok(rnl_stream_synchronize(legacy, RNL_FOREVER));
    expect_ok(rnl_stream_release(legacy));
    expect_ok(rnl_context_release(context));
    await_deleter();
    assert_int_equal(destroy(green), 0);
}

// runnel.hpp with exceptions.
#include "test.hpp"

#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <ratio>
#include <stdexcept>
#include <string>
#include <string_view>
#if __cplusplus >= 202002L
#include <span>
#endif

namespace
{

template <class From, class T>
constexpr bool spans = std::is_convertible_v<From, runnel::span<T>>;

// Of temporaries a span takes views alone.
static_assert(spans<std::vector<float> &, float>);
static_assert(spans<std::vector<float> &, const float>);
static_assert(spans<const std::vector<float> &, const float>);
static_assert(!spans<const std::vector<float> &, float>);
static_assert(!spans<std::vector<float>, const float>);
static_assert(spans<float (&)[2], float>);
static_assert(!spans<float[2], const float>);
static_assert(!spans<std::array<float, 2>, const float>);
static_assert(!spans<std::string, const char>);
static_assert(spans<std::string_view, const char>);
static_assert(spans<runnel::span<float>, const float>);
#if __cplusplus >= 202002L
static_assert(spans<std::span<float>, const float>);
static_assert(spans<std::span<float, 2>, float>);
#endif

constexpr uint64_t ns_of(runnel::timeout limit)
{
    return limit.ns();
}

using std::chrono::duration;
static_assert(ns_of(std::chrono::milliseconds(3)) == 3000000);
static_assert(ns_of(std::chrono::seconds(-1)) == 0);
static_assert(ns_of(duration<int, std::pico>(500)) == 1);
static_assert(ns_of(duration<double>(1e-12)) == 1);
static_assert(ns_of(std::chrono::hours::max()) == RNL_FOREVER);
static_assert(ns_of(std::chrono::hours(600 * 8766)) == RNL_FOREVER);
static_assert(ns_of(std::chrono::hours::min()) == 0);

static_assert(runnel::element_of<const float>() == RNL_ELEMENT_FLOAT32);
static_assert(std::is_trivially_copyable_v<runnel::stream_ref>);

const char source[] =
    "extern \"C\" __global__ void scale(float *x, int n, float factor)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        x[i] *= factor;\n"
    "}\n"
    "extern \"C\" __global__ void count(int *x) { atomicAdd(x, 1); }\n"
    "extern \"C\" __global__ void nothing() {}\n";

struct fixture {
    runnel::context context = runnel::context::open("cpu");
    runnel::stream stream = context.create_stream();
};

// The status that `function` throws.
template <class Function> rnl_status thrown(Function &&function)
{
    try {
        function();
    } catch (const runnel::error &error) {
        CHECK(*error.what());
        return error.status();
    }
    return RNL_OK;
}

rnl_status no_op(const rnl_native_call *)
{
    return RNL_OK;
}

// Without a compiler: a C function as a kernel of no parameters.
template <class Signature>
runnel::function<Signature> native(const runnel::context &context)
{
    rnl_function made = nullptr;
    CHECK(!rnl_function_create_native(context.get(), "native", no_op, nullptr,
                                      &made));
    return runnel::function<Signature>(made);
}

}  // namespace

RNL_TEST(typed_launches_compute)
{
    fixture f;
    auto scale = f.context.compile<void(float *, int, float)>(source, "scale");
    auto data = f.context.create_buffer<float>(1000);
    std::vector<float> host(1000, 3);
    f.stream.copy(data, host);
    f.stream.launch(scale, {{4}, {256}}, data, 1000, 2.0f);
    std::array<float, 1000> back{};
    f.stream.copy(back, data);
    f.stream.synchronize();
    for (float value : back)
        CHECK(value == 6);
    f.stream.launch(scale, runnel::shape::for_threads(1000), data, 1000, 0.5f);
    f.stream.copy(back, data);
    f.stream.synchronize();
    for (float value : back)
        CHECK(value == 3);
}

RNL_TEST(untyped_launches_are_checked_at_run_time)
{
    fixture f;
    runnel::module module = f.context.compile_module(source);
    auto scale = module.function("scale");
    auto data = f.context.create_buffer<float>(8);
    f.stream.fill(data, 1.5f);
    f.stream.launch(scale, {{1}, {8}}, data, 8, 2.0f);
    CHECK(thrown([&] {
              f.stream.launch(scale, {{1}, {8}}, data, 8, 2.0);
          }) == RNL_ERROR_ARGUMENT_MISMATCH);
    auto doubles = f.context.create_buffer<double>(8);
    CHECK(thrown([&] {
              f.stream.launch(scale, {{1}, {8}}, doubles, 8, 2.0f);
          }) == RNL_ERROR_ARGUMENT_MISMATCH);
    f.stream.synchronize();
    CHECK(data.host()[7] == 3);
    f.stream.launch(module.function<void()>("nothing"), {{1}, {1}});
    f.stream.launch(module.function("nothing"), {{1}, {1}});
    f.stream.synchronize();
}

RNL_TEST(an_error_has_all_that_is_known)
{
    runnel::context context = runnel::context::open("cpu");
    try {
        context.compile("__global__ void k(int *x) { *x = y; }", "k");
        CHECK(false);
    } catch (const runnel::error &error) {
        CHECK(error.status() == RNL_ERROR_COMPILE_FAILED);
        CHECK(error.log().find("use of undeclared identifier 'y'") !=
              std::string::npos);
        CHECK(error.function() == "rnl_function_compile");
        rnl_last_error_clear();
        CHECK(std::strstr(error.what(), "does not compile"));
    }
}

RNL_TEST(a_launch_tells_its_site)
{
    fixture f;
    auto kernel = native<void()>(f.context);
    const int line = __LINE__ + 1;
    runnel::shape shape({1}, {1});
    CHECK(std::string(shape.file).find("cpp.cpp") != std::string::npos);
    CHECK(shape.line == line);
    runnel::shape count = runnel::shape::for_threads(1);
    CHECK(count.threads == 1 && count.line == line + 3);
    runnel::shape no_block(1024, 0);
    CHECK(no_block.grid.x == 1024 && no_block.block.x == 0 && no_block.file);
    f.stream.launch(kernel, shape);
    f.stream.synchronize();
}

RNL_TEST(owners_move_and_release_once)
{
    fixture f;
    auto first = f.context.create_buffer<int>(16);
    rnl_buffer handle = first.get();
    runnel::buffer<int> second = std::move(first);
    CHECK(!first && first.size() == 0);
    CHECK(second.get() == handle && second.size() == 16);
    second = f.context.create_buffer<int>(8);
    second.reset();
    CHECK(!second);
    rnl_buffer_info info = {};
    info.struct_size = sizeof info;
    CHECK(rnl_buffer_get_info(handle, &info) == RNL_ERROR_INVALID_HANDLE ||
          !first);
    runnel::stream other = f.context.create_stream();
    rnl_stream raw = other.get();
    runnel::stream shared = runnel::share(other);
    other.reset();
    CHECK(rnl_stream_query(raw) == RNL_OK);
    shared.reset();
    CHECK(rnl_stream_query(raw) == RNL_ERROR_INVALID_HANDLE);
    runnel::stream self = f.context.create_stream();
    runnel::stream &same = self;
    self = std::move(same);
    CHECK(self);
}

RNL_TEST(an_assigned_owner_leaves_its_source_empty)
{
    fixture f;
    auto a = f.context.create_buffer<int>(4),
         b = f.context.create_buffer<int>(2);
    rnl_buffer old_a = a.get(), old_b = b.get();
    a = std::move(b);
    CHECK(a.get() == old_b && a.size() == 2);
    CHECK(!b && b.size() == 0);
    CHECK(rnl_buffer_retain(old_a) == RNL_ERROR_INVALID_HANDLE);
    runnel::buffer<int> &same = a;
    a = std::move(same);
    CHECK(a.get() == old_b && a.size() == 2);
    CHECK(a.release() == old_b && a.size() == 0);
    CHECK(!rnl_buffer_release(old_b));
}

RNL_TEST(every_object_can_be_shared)
{
    fixture f;
    auto data = f.context.create_buffer<int>(4);
    runnel::buffer<int> more = runnel::share(data);
    data.reset();
    CHECK(more.size() == 4 && more.host().size() == 4);
    runnel::buffer_ref<int> reference = more;
    runnel::buffer<int> third = runnel::share(reference);
    more.reset();
    CHECK(third.host().size() == 4);
    runnel::context context = runnel::share(f.context);
    f.stream.reset();
    f.context.reset();
    CHECK(context.supports(RNL_FEATURE_GRAPHS));
    runnel::event none;
    CHECK(thrown([&] { (void)runnel::share(none); }) ==
          RNL_ERROR_INVALID_HANDLE);
}

// A stream that cannot be retained, and counts how often it is released.
static int released;
static rnl_status refuse(rnl_stream)
{
    return RNL_ERROR_FORKED;
}
static rnl_status count_release(rnl_stream)
{
    released++;
    return RNL_OK;
}
struct refusing_ref
    : public runnel::detail::object<rnl_stream, refuse, count_release> {
    using object::object;
};

RNL_TEST(a_refused_share_releases_nothing)
{
    fixture f;
    refusing_ref reference(f.stream.get());
    CHECK(thrown([&] { (void)runnel::share(reference); }) == RNL_ERROR_FORKED);
    CHECK(released == 0);
    CHECK(runnel::owner<refusing_ref>(f.stream.get()));
    CHECK(released == 1);
}

RNL_TEST(host_functions_may_own_what_cannot_be_copied)
{
    fixture f;
    auto owned = std::make_unique<int>(41);
    int seen = 0;
    f.stream.call([owned = std::move(owned), &seen] { seen = *owned + 1; });
    f.stream.synchronize();
    CHECK(seen == 42);
}

RNL_TEST(host_functions_may_own_objects)
{
    fixture f;
    struct end {
        std::promise<void> *signal;
        ~end()
        {
            signal->set_value();
        }
    };
    struct members {
        std::unique_ptr<end> last;  // ends behind the others
        runnel::buffer<int> data;
        runnel::event event;
    };
    std::promise<void> ended;
    members owned = {std::unique_ptr<end>(new end{&ended}),
                     f.context.create_buffer<int>(4),
                     f.context.create_promise()};
    rnl_buffer data = owned.data.get();
    rnl_event event = owned.event.get();
    f.stream.call([owned = std::move(owned)] { CHECK(owned.data); });
    ended.get_future().wait();
    CHECK(rnl_buffer_retain(data) == RNL_ERROR_INVALID_HANDLE);
    CHECK(rnl_event_retain(event) == RNL_ERROR_INVALID_HANDLE);
}

RNL_TEST(an_exception_of_a_host_function_fails_the_stream)
{
    fixture f;
    // All is enqueued before the first of it runs.
    runnel::stream other = f.context.create_stream();
    runnel::event gate = f.context.create_promise();
    f.stream.wait(gate);
    f.stream.call([] { throw std::runtime_error("the disk is full"); });
    bool skipped = true;
    rnl_status told = RNL_OK;
    f.stream.call([&] { skipped = false; });
    f.stream.call([&](rnl_status status) { told = status; });
    other.record(gate);
    try {
        f.stream.synchronize();
        CHECK(false);
    } catch (const runnel::error &error) {
        CHECK(std::strstr(error.what(), "the disk is full"));
    }
    CHECK(skipped && told != RNL_OK);
    f.stream.reset_and_wait();
    f.stream.call([] { throw 7; });
    CHECK(thrown([&] { f.stream.synchronize(); }) == RNL_ERROR_LAUNCH_FAILED);
    f.stream.reset_and_wait();
    struct wordless : std::exception {
        const char *what() const noexcept override
        {
            return nullptr;
        }
    };
    f.stream.call([] { throw wordless(); });
    CHECK(thrown([&] { f.stream.synchronize(); }) == RNL_ERROR_LAUNCH_FAILED);
}

RNL_TEST(a_refused_host_function_is_destroyed)
{
    auto counted = std::make_shared<int>(0);
    runnel::stream_ref none;
    CHECK(thrown([&] { none.call([counted] {}); }) == RNL_ERROR_INVALID_HANDLE);
    CHECK(counted.use_count() == 1);
}

RNL_TEST(host_functions_end_with_the_graph)
{
    fixture f;
    struct end {
        std::promise<void> *signal;
        int count = 0;
        explicit end(std::promise<void> *told) : signal(told)
        {
        }
        ~end()
        {
            signal->set_value();
        }
    };
    std::promise<void> ended;
    auto counted = std::make_shared<end>(&ended);
    {
        runnel::graph graph = f.stream.capture(
            [&] { f.stream.call([counted] { counted->count++; }); });
        runnel::graph_exec exec = graph.instantiate();
        f.stream.launch(exec);
        f.stream.launch(exec);
        f.stream.synchronize();
        CHECK(counted->count == 2 && counted.use_count() >= 2);
    }
    // The last owner is the graph's copy, which goes with its last launch.
    counted.reset();
    ended.get_future().wait();
}

RNL_TEST(captures_are_scopes)
{
    fixture f;
    auto data = f.context.create_buffer<uint32_t>(4);
    f.stream.fill(data, 0u);
    f.stream.synchronize();
    {
        runnel::capture dropped(f.stream);
        f.stream.fill(data, 9u);
    }
    runnel::capture scope(f.stream);
    f.stream.fill(data, 5u);
    runnel::graph graph = scope.end();
    CHECK(graph.info().node_count == 1);
    CHECK(graph.dot().find("digraph") != std::string::npos);
    f.stream.synchronize();
    CHECK(data.host()[0] == 0);
    f.stream.launch(graph.instantiate());
    f.stream.synchronize();
    CHECK(data.host()[3] == 5);
    bool through = false;
    try {
        f.stream.capture([] { throw std::logic_error("changed my mind"); });
    } catch (const std::logic_error &) {
        through = true;
    }
    CHECK(through);
    f.stream.synchronize();  // nothing is captured any more
    CHECK(thrown([&] {
              f.stream.capture(
                  [&] { return rnl_enqueue_event_record(f.stream.get(), {}); });
          }) == RNL_ERROR_INVALID_HANDLE);
}

RNL_TEST(events_and_promises_order_streams)
{
    fixture f;
    runnel::stream other = f.context.create_stream();
    auto word = f.context.create_buffer<uint32_t>(2);
    f.stream.fill(word, 0u);
    f.stream.synchronize();
    runnel::event promise = f.context.create_promise();
    other.wait(promise);
    other.write_value(word, 1, 7);
    CHECK(!other.query());
    f.stream.write_value(word, 0, 3);
    f.stream.record(promise);
    other.wait_value(word, 0, 3);
    other.synchronize(std::chrono::seconds(20));
    CHECK(promise.query() && other.query());
    CHECK(word.host()[1] == 7);
    auto options = runnel::detail::sized<rnl_event_options>();
    options.timing = true;
    runnel::event start = f.stream.record(&options);
    runnel::event end = f.stream.record(&options);
    end.synchronize();
    CHECK(runnel::elapsed(start, end).count() >= 0);
}

RNL_TEST(time_limits_are_durations)
{
    fixture f;
    runnel::event promise = f.context.create_promise();
    f.stream.wait(promise);
    CHECK(thrown([&] { f.stream.synchronize(std::chrono::milliseconds(1)); }) ==
          RNL_ERROR_TIMED_OUT);
    CHECK(thrown([&] { f.stream.synchronize(std::chrono::nanoseconds(-1)); }) ==
          RNL_ERROR_TIMED_OUT);
}

RNL_TEST(sizes_that_overflow_are_refused)
{
    fixture f;
    CHECK(thrown([&] { f.context.create_buffer<double>(SIZE_MAX / 4); }) ==
          RNL_ERROR_OUT_OF_MEMORY);
    auto data = f.context.create_buffer<int>(8);
    CHECK(data.slice(4, 4).size() == 4);
    try {
        (void)data.slice(4, 5);
        CHECK(false);
    } catch (const runnel::error &error) {
        CHECK(error.status() == RNL_ERROR_OUT_OF_RANGE);
        CHECK(std::strstr(error.what(), "20 bytes from 16"));
    }
    CHECK(thrown([&] { (void)data.slice(0, SIZE_MAX); }) ==
          RNL_ERROR_OUT_OF_RANGE);
    auto bytes = f.context.create_buffer<char>(8);
    CHECK(thrown([&] { (void)bytes.slice(0, SIZE_MAX); }) ==
          RNL_ERROR_OUT_OF_RANGE);
    CHECK(thrown([&] { f.context.create_buffer<char>(SIZE_MAX); }) ==
          RNL_ERROR_OUT_OF_MEMORY);
    auto words = f.context.create_buffer<uint32_t>(1);
    f.stream.fill(words, 5u);
    CHECK(thrown([&] { f.stream.write_value(words, SIZE_MAX / 4 + 1, 7); }) ==
          RNL_ERROR_OUT_OF_RANGE);
    CHECK(thrown([&] { f.stream.wait_value(words, SIZE_MAX / 4 + 1, 5); }) ==
          RNL_ERROR_OUT_OF_RANGE);
    f.stream.synchronize();
    CHECK(words.host()[0] == 5);
    int one = 0;
    runnel::span<int> endless(&one, SIZE_MAX / 4 + 2);
    CHECK(thrown([&] { f.context.wrap(endless); }) == RNL_ERROR_OUT_OF_RANGE);
    CHECK(thrown([&] { (void)data.slice(SIZE_MAX, 1); }) ==
          RNL_ERROR_OUT_OF_RANGE);
    std::vector<int> long_one(9);
    CHECK(thrown([&] { f.stream.copy(data, long_one); }) ==
          RNL_ERROR_OUT_OF_RANGE);
    std::vector<int> short_one(7);
    try {
        f.stream.copy(short_one, data);
        CHECK(false);
    } catch (const runnel::error &error) {
        CHECK(error.status() == RNL_ERROR_OUT_OF_RANGE);
        // Not the text of the failure before.
        CHECK(error.what() == std::string(rnl_status_text(error.status())));
    }
}

RNL_TEST(memory_of_the_host_is_wrapped)
{
    fixture f;
    std::vector<float> host(64, 2);
    auto scale = f.context.compile<void(float *, int, float)>(source, "scale");
    auto data = f.context.wrap(runnel::span<float>(host));
    f.stream.launch(scale, {{1}, {64}}, data, 64, 4.0f);
    f.stream.synchronize();
    CHECK(host[63] == 8);
}

RNL_TEST(pointers_without_elements_take_every_buffer)
{
    fixture f;
    auto first = f.context.compile<void(void *, const void *)>(
        "extern \"C\" __global__ void first(void *to, const void *from)\n"
        "{ *(int *)to = *(const int *)from + 1; }\n",
        "first");
    auto a = f.context.create_buffer<int>(1);
    auto b = f.context.create_buffer<unsigned>(1);
    f.stream.fill(b, 4u);
    f.stream.launch(first, {{1}, {1}}, a.get(), b);
    f.stream.synchronize();
    CHECK(a.host()[0] == 5);
    f.stream.launch(first, {{1}, {1}}, a.host_pointer(), b.get());
    f.stream.synchronize();
    CHECK(a.host()[0] == 5);
    auto count = f.context.compile<void(int *)>(source, "count");
    f.stream.launch(count, {{1}, {2}}, a.get());
    f.stream.launch(count, {{1}, {2}}, runnel::any_buffer_ref(a));
    f.stream.synchronize();
    CHECK(a.host()[0] == 9);
}

RNL_TEST(variables_of_modules_are_buffers)
{
    fixture f;
    runnel::module module = f.context.compile_module(
        "__device__ int table[3] = {1, 2, 3};\n"
        "extern \"C\" __global__ void twice(int *x) { x[0] *= 2; }\n");
    auto table = module.global<int>("table");
    CHECK(table.size() == 3);
    f.stream.launch(module.function<void(int *)>("twice"), {{1}, {1}}, table);
    runnel::buffer_ref<int> reference = table;
    auto rest = reference.slice(1, 2);
    f.stream.fill(rest, 7);
    std::vector<int> host(3);
    f.stream.copy(host, table);
    f.stream.synchronize();
    CHECK(host[0] == 2 && host[1] == 7 && host[2] == 7);
    auto bytes = module.global("table");
    CHECK(bytes.size() == 12);
    runnel::any_buffer_ref any = bytes;
    CHECK(any.as<int>().host()[2] == 7 && any.as<double>().size() == 1);
    CHECK(thrown([&] { module.global<int>("chair"); }) == RNL_ERROR_NOT_FOUND);
    runnel::any_buffer_ref none;
    CHECK(thrown([&] { (void)none.as<int>(); }) == RNL_ERROR_INVALID_HANDLE);
}

RNL_TEST(devices_are_listed)
{
    auto all = runnel::devices("cpu");
    CHECK(!all.empty());
    CHECK(std::string(all[0].info().api) == "cpu");
    runnel::context context = runnel::context::create(all[0]);
    CHECK(context.supports(RNL_FEATURE_GRAPHS));
    CHECK(context.default_stream().info().id > 0);
}

RNL_TEST(objects_that_were_never_made_are_refused)
{
    runnel::stream none;
    CHECK(!none);
    CHECK(thrown([&] { none.synchronize(); }) == RNL_ERROR_INVALID_HANDLE);
    CHECK(thrown([&] { (void)runnel::context::open("pocket calculator"); }) !=
          RNL_OK);
}

// runnel.hpp without exceptions: compiled with -fno-exceptions alone.
#include "test.hpp"
#include "cpp_results.hpp"

#include <cstring>
#include <functional>
#include <memory>

#ifndef RUNNEL_NO_EXCEPTIONS
#error "there are no results"
#endif

RNL_TEST(results_have_values)
{
    auto opened = runnel::context::open("cpu");
    CHECK(opened && opened.status() == RNL_OK);
    runnel::context context = *std::move(opened);
    runnel::stream stream = *context.create_stream();
    auto data = *context.create_buffer<uint32_t>(16);
    CHECK(stream.fill(data, 3u));
    std::vector<uint32_t> host(16);
    CHECK(stream.copy(host, data));
    CHECK(stream.synchronize());
    CHECK(host[15] == 3);
}

RNL_TEST(results_can_be_constant)
{
    const auto context = runnel::context::open("cpu");
    const auto stream = context->create_stream();
    CHECK(stream && (*stream).synchronize());
    runnel::result<void> status = context->create_event();
    CHECK(status);
}

RNL_TEST(results_have_statuses)
{
    auto none = runnel::context::open("pocket calculator");
    CHECK(!none && none.status() != RNL_OK);
    CHECK(rnl_last_error()->status == none.status());
    CHECK(!(*none).get());
    runnel::stream_ref never;
    CHECK(never.synchronize().status() == RNL_ERROR_INVALID_HANDLE);
    CHECK(never.query().status() == RNL_ERROR_INVALID_HANDLE);
    runnel::capture scope(never);
    CHECK(scope.status() == RNL_ERROR_INVALID_HANDLE);
    CHECK(scope.end().status() == RNL_ERROR_INVALID_HANDLE);
}

RNL_TEST(host_functions_run)
{
    runnel::context context = *runnel::context::open("cpu");
    runnel::stream stream = *context.create_stream();
    int seen = 0;
    CHECK(stream.call(
        [owned = std::make_unique<int>(5), &seen] { seen = *owned; }));
    auto graph = stream.capture([&] { (void)stream.call([&] { seen++; }); });
    CHECK(graph && graph->info()->node_count == 1);
    auto exec = graph->instantiate();
    CHECK(stream.launch(*exec));
    CHECK(stream.synchronize());
    CHECK(seen == 6);
}

RNL_TEST(a_failure_in_a_capture_is_given)
{
    runnel::context context = *runnel::context::open("cpu");
    runnel::stream stream = *context.create_stream();
    auto data = *context.create_buffer<int>(8);
    std::vector<int> small(4);
    auto graph = stream.capture([&] { return stream.copy(small, data); });
    CHECK(graph.status() == RNL_ERROR_OUT_OF_RANGE && !*graph);
    CHECK(rnl_last_error()->status == RNL_OK);
    auto made = stream.capture([&] { return stream.fill(data, 3); });
    CHECK(made && made->info()->node_count == 1);
    // A capture that failed has its own status.
    runnel::stream_ref none;
    CHECK(none.capture([] {}).status() == RNL_ERROR_INVALID_HANDLE);
}

RNL_TEST(without_memory_nothing_ends)
{
    runnel::context context = *runnel::context::open("cpu");
    runnel::stream stream = *context.create_stream();
    auto none = std::make_shared<int>(0);
    if (!fill_memory(true))
        std::_Exit(77);  // skipped
    rnl_status status = stream.call([none] {}).status();
    rnl_status listed = devices_status();
    fill_memory(false);
    CHECK(status == RNL_ERROR_OUT_OF_MEMORY && none.use_count() == 1);
    CHECK(listed == RNL_ERROR_OUT_OF_MEMORY);
    CHECK(stream.synchronize());
}

// Both files instantiate the same host function.
RNL_TEST(files_with_and_without_exceptions_are_linked)
{
    runnel::context context = *runnel::context::open("cpu");
    runnel::stream stream = *context.create_stream();
    int seen = 0;
    CHECK(stream.call(std::function<void()>([&] { seen++; })));
    CHECK(stream.synchronize() && seen == 1);
    CHECK(enqueue_throw(stream.get()) == RNL_OK);
    CHECK(stream.synchronize().status() == RNL_ERROR_LAUNCH_FAILED);
    CHECK(std::strstr(rnl_last_error()->message, "the disk is full"));
}

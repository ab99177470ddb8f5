// runnel.hpp without exceptions: compiled with -fno-exceptions.
#define RUNNEL_NO_EXCEPTIONS
#include "test.hpp"

#include <memory>

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

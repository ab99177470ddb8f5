// Kernels that do not end: a cancelled stream, or the time limit of a context,
// stops them wherever they are, and everything else goes on. Every case is a
// process of its own, because signals belong to a process.
#include "child.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static const char source[] =
    "#include <cooperative_groups.h>\n"
    "#define BEGUN atomicExch(out + 1, 1)\n"
    "extern \"C\" __global__ void fine(int *out) { *out = 7; }\n"
    "extern \"C\" __global__ void nothing(int *) {}\n"
    "extern \"C\" __global__ void for_ever(int *out) {\n"
    "    BEGUN;\n"
    "    for (;;) {}\n"
    "}\n"
    "extern \"C\" __global__ void waits(int *out) {\n"
    "    BEGUN;\n"
    "    while (!*(volatile int *)out) {}\n"
    "}\n"
    "extern \"C\" __global__ void one_lane_waits(int *out) {\n"
    "    BEGUN;\n"
    "    if (threadIdx.x == 37)\n"
    "        while (!*(volatile int *)out) {}\n"
    "}\n"
    "extern \"C\" __global__ void meets(int *out) {\n"
    "    __shared__ int seen[64];\n"
    "    BEGUN;\n"
    "    while (!*(volatile int *)out) {\n"
    "        __syncthreads();\n"
    "        seen[threadIdx.x % 64]++;\n"
    "    }\n"
    "    out[2] = seen[3];\n"
    "}\n"
    "extern \"C\" __global__ void votes(int *out) {\n"
    "    BEGUN;\n"
    "    while (!__all_sync(0xffffffff, *(volatile int *)out)) {}\n"
    "}\n"
    "extern \"C\" __global__ void meets_grids(int *out) {\n"
    "    BEGUN;\n"
    "    while (!*(volatile int *)out)\n"
    "        cooperative_groups::this_grid().sync();\n"
    "}\n"
    "extern \"C\" __global__ void meets_clusters(int *out) {\n"
    "    BEGUN;\n"
    "    while (!*(volatile int *)out)\n"
    "        cooperative_groups::this_cluster().sync();\n"
    "}\n"
    "extern \"C\" __global__ void rounds_of_clusters(int *out) {\n"
    "    __shared__ int seen;\n"
    "    auto cluster = cooperative_groups::this_cluster();\n"
    "    BEGUN;\n"
    "    seen = 0;\n"
    "    for (unsigned i = 1; i != 0; i++) {\n"
    "        cluster.sync();\n"
    "        atomicAdd(cluster.map_shared_rank(&seen, 0), i);\n"
    "    }\n"
    "    out[2] = seen;\n"
    "}\n"
    "extern \"C\" __global__ void calls(int *out) {\n"
    "    double x = 0;\n"
    "    BEGUN;\n"
    "    while (!*(volatile int *)out) x = tgamma(sin(x) + 2);\n"
    "    out[2] = (int)x;\n"
    "}\n"
    "extern \"C\" __global__ void prints(int *out) {\n"
    "    BEGUN;\n"
    "    while (!*(volatile int *)out) printf(\"\");\n"
    "}\n"
    "extern \"C\" __global__ void allocates(int *out) {\n"
    "    BEGUN;\n"
    "    while (!*(volatile int *)out) free(malloc(100));\n"
    "}\n"
    "extern \"C\" __global__ void slowly(int *out) {\n"
    "    BEGUN;\n"
    "    for (int i = 0; i < 100000; i++) *(volatile int *)(out + 3) = i;\n"
    "}\n";

static const char *const endless[] = {"for_ever", "waits", "one_lane_waits",
                                      "meets", "votes", "meets_grids",
                                      "meets_clusters", "rounds_of_clusters",
                                      "calls", "prints", "allocates"};
enum { ENDLESS = sizeof endless / sizeof *endless };

struct scene {
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_module module;
    int *words;
};

static int open_scene(struct scene *scene, uint64_t limit_ns)
{
    const char *const options[] = {"--tier=F", "-G"};
    bool is_f = getenv("TEST_TIER") != NULL;
    void *words = NULL;
    *scene = (struct scene){0};
    CHECK(rnl_context_open("cpu", 0,
                           RNL_CONTEXT_OPTIONS(.threads = 2,
                                               .kernel_limit_ns = limit_ns),
                           &scene->context) == RNL_OK);
    CHECK(rnl_stream_create(scene->context,
                            RNL_STREAM_OPTIONS(.label = "the one"),
                            &scene->stream) == RNL_OK);
    CHECK(rnl_buffer_create(scene->context, 4096, NULL, &scene->buffer) ==
          RNL_OK);
    CHECK(rnl_buffer_host_pointer(scene->buffer, &words) == RNL_OK);
    scene->words = words;
    memset(words, 0, 4096);
    CHECK(rnl_module_compile(scene->context, source,
                             RNL_MODULE_OPTIONS(.options = options,
                                                .option_count = is_f ? 1 : 0),
                             &scene->module) == RNL_OK);
    return 0;
}

static int close_scene(struct scene *scene)
{
    CHECK(rnl_module_release(scene->module) == RNL_OK);
    CHECK(rnl_buffer_release(scene->buffer) == RNL_OK);
    CHECK(rnl_stream_release(scene->stream) == RNL_OK);
    return child_still_works(scene->context);
}

static bool is_cooperative(const char *kernel)
{
    return strcmp(kernel, "meets_grids") == 0;
}

// One cluster of all blocks.
static bool is_clustered(const char *kernel)
{
    return strstr(kernel, "clusters") != NULL;
}

static int start_on(const struct scene *scene, rnl_stream stream,
                    const char *kernel, unsigned blocks)
{
    rnl_function function = NULL;
    CHECK(rnl_module_function(scene->module, kernel, &function) == RNL_OK);
    const rnl_launch_attribute cooperative = {RNL_LAUNCH_COOPERATIVE,
                                              {is_cooperative(kernel)}};
    CHECK(rnl_enqueue_function(
              stream, function,
              RNL_LAUNCH(.grid = {blocks}, .block = {64}, .label = "endless",
                         .cluster = {is_clustered(kernel) ? blocks : 1},
                         .attributes = &cooperative, .attribute_count = 1),
              RNL_ARGS(scene->buffer)) == RNL_OK);
    CHECK(rnl_function_release(function) == RNL_OK);
    return 0;
}

static int start(const struct scene *scene, const char *kernel,
                 unsigned blocks)
{
    return start_on(scene, scene->stream, kernel, blocks);
}

static void await_begun(const struct scene *scene)
{
    while (!__atomic_load_n(scene->words + 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

// A launch on the same stream after a reset, and one on another stream.
static int goes_on(const struct scene *scene)
{
    rnl_stream other = NULL;
    scene->words[0] = scene->words[1] = 0;
    CHECK(rnl_stream_create(scene->context, NULL, &other) == RNL_OK);
    CHECK(start_on(scene, other, "fine", 1) == 0);
    CHECK(rnl_stream_synchronize(other, RNL_FOREVER) == RNL_OK);
    CHECK(scene->words[0] == 7);
    CHECK(rnl_stream_release(other) == RNL_OK);
    scene->words[0] = 0;
    CHECK(rnl_stream_reset_and_wait(scene->stream) == RNL_OK);
    CHECK(start(scene, "fine", 1) == 0);
    CHECK(rnl_stream_synchronize(scene->stream, RNL_FOREVER) == RNL_OK);
    CHECK(scene->words[0] == 7);
    scene->words[0] = 0;
    return 0;
}

// The failure names kernel, label and site.
static int is_named(const char *kernel, const char *words)
{
    const rnl_error *error = rnl_last_error();
    CHECK(!strcmp(error->operation_name, kernel));
    CHECK(!strcmp(error->operation_label, "endless"));
    CHECK(error->site_file && strstr(error->site_file, "stopping.c"));
    CHECK(error->site_line > 0);
    CHECK(strstr(error->message, kernel) && strstr(error->message, "endless"));
    CHECK(strstr(error->message, "the one"));
    CHECK(strstr(error->message, words));
    return 0;
}

static void run(int (*body)(void), const char *variable)
{
    test_need_faults();
    child_compiler();
    const char *const environment[] = {variable, NULL};
    child_run(body, environment);
}

// --- By a cancelled stream -------------------------------------------------

static int cancels(const struct scene *scene, const char *kernel,
                   unsigned blocks)
{
    CHECK(start(scene, kernel, blocks) == 0);
    CHECK(rnl_stream_query(scene->stream) == RNL_NOT_READY);
    await_begun(scene);
    CHECK(rnl_stream_cancel(scene->stream) == RNL_OK);
    CHECK(rnl_stream_synchronize(scene->stream, UINT64_C(20000000000)) ==
          RNL_ERROR_CANCELLED);
    CHECK(is_named(kernel, "cancelled") == 0);
    return goes_on(scene);
}

static int cancel_each(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < ENDLESS; i++)
            CHECK(cancels(&scene, endless[i], round == 1 ? 1 : 3) == 0);
    return close_scene(&scene);
}

RNL_TEST(a_cancelled_stream_stops_its_kernels)
{
    run(cancel_each, "RUNNEL_KERNEL_LIMIT");
}

static void *cancel_when_begun(void *argument)
{
    const struct scene *scene = argument;
    await_begun(scene);
    rnl_status status = rnl_stream_cancel(scene->stream);
    return status == RNL_OK ? NULL : argument;
}

// The thread that waits runs the kernel, or a worker does.
static int cancel_who_waits(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    for (int i = 0; i < 4 * ENDLESS; i++) {
        const char *kernel = endless[i % ENDLESS];
        pthread_t thread;
        void *wrong = NULL;
        CHECK(pthread_create(&thread, NULL, cancel_when_begun, &scene) == 0);
        CHECK(start(&scene, kernel, 1 + i % 4) == 0);
        rnl_status status = rnl_stream_synchronize(scene.stream, RNL_FOREVER);
        CHECK(status == RNL_ERROR_CANCELLED);
        CHECK(is_named(kernel, "cancelled") == 0);
        CHECK(pthread_join(thread, &wrong) == 0 && !wrong);
        CHECK(goes_on(&scene) == 0);
    }
    return close_scene(&scene);
}

RNL_TEST(a_thread_that_runs_the_kernel_itself_is_stopped)
{
    run(cancel_who_waits, "RUNNEL_KERNEL_LIMIT");
}

static atomic_int host_status;

static void note_status(rnl_status status, void *unused)
{
    (void)unused;
    atomic_store(&host_status, (int)status);
}

static int drop_rest(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(start(&scene, "waits", 1) == 0);
    CHECK(start(&scene, "fine", 1) == 0);
    CHECK(rnl_enqueue_host_function(scene.stream, note_status, NULL) ==
          RNL_OK);
    CHECK(rnl_enqueue_fill(scene.stream, scene.buffer, 8, 8, 9, 4) == RNL_OK);
    CHECK(rnl_stream_query(scene.stream) == RNL_NOT_READY);
    await_begun(&scene);
    CHECK(rnl_stream_cancel(scene.stream) == RNL_OK);
    CHECK(rnl_stream_cancel(scene.stream) == RNL_OK);
    CHECK(rnl_stream_synchronize(scene.stream, RNL_FOREVER) ==
          RNL_ERROR_CANCELLED);
    CHECK(is_named("waits", "cancelled") == 0);
    CHECK(scene.words[0] == 0 && scene.words[2] == 0);
    CHECK(atomic_load(&host_status) == RNL_ERROR_CANCELLED);
    // All is done: there is nothing to cancel.
    CHECK(goes_on(&scene) == 0);
    CHECK(rnl_stream_cancel(scene.stream) == RNL_OK);
    CHECK(rnl_stream_query(scene.stream) == RNL_OK);
    return close_scene(&scene);
}

RNL_TEST(what_is_behind_a_stopped_kernel_is_dropped)
{
    run(drop_rest, "RUNNEL_KERNEL_LIMIT");
}

static int spare_others(void)
{
    struct scene scene;
    rnl_stream other = NULL;
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(rnl_stream_create(scene.context, NULL, &other) == RNL_OK);
    CHECK(start_on(&scene, other, "waits", 1) == 0);
    CHECK(rnl_stream_query(other) == RNL_NOT_READY);
    await_begun(&scene);
    __atomic_store_n(scene.words + 1, 0, __ATOMIC_RELEASE);
    CHECK(start(&scene, "for_ever", 1) == 0);
    CHECK(rnl_stream_query(scene.stream) == RNL_NOT_READY);
    await_begun(&scene);
    CHECK(rnl_stream_cancel(scene.stream) == RNL_OK);
    CHECK(rnl_stream_synchronize(scene.stream, RNL_FOREVER) ==
          RNL_ERROR_CANCELLED);
    CHECK(rnl_stream_query(other) == RNL_NOT_READY);
    __atomic_store_n(scene.words, 1, __ATOMIC_RELEASE);
    CHECK(rnl_stream_synchronize(other, RNL_FOREVER) == RNL_OK);
    CHECK(rnl_stream_release(other) == RNL_OK);
    CHECK(goes_on(&scene) == 0);
    return close_scene(&scene);
}

RNL_TEST(kernels_of_other_streams_go_on)
{
    run(spare_others, "RUNNEL_KERNEL_LIMIT");
}

// --- In graphs -------------------------------------------------------------

static int make_graph(const struct scene *scene, const char *kernel,
                      unsigned blocks, rnl_graph_exec *out_exec)
{
    rnl_graph graph = NULL;
    CHECK(rnl_stream_begin_capture(scene->stream, NULL) == RNL_OK);
    CHECK(start(scene, "nothing", 1) == 0);
    CHECK(start(scene, kernel, blocks) == 0);
    CHECK(start(scene, "fine", 1) == 0);
    CHECK(rnl_stream_end_capture(scene->stream, &graph) == RNL_OK);
    CHECK(rnl_graph_instantiate(graph, out_exec) == RNL_OK);
    CHECK(rnl_graph_release(graph) == RNL_OK);
    return 0;
}

static int stop_in_graph(const struct scene *scene, const char *kernel,
                         unsigned blocks, bool cancel)
{
    rnl_graph_exec exec = NULL;
    CHECK(make_graph(scene, kernel, blocks, &exec) == 0);
    for (int round = 0; round < 2; round++) {
        CHECK(rnl_enqueue_graph(scene->stream, exec) == RNL_OK);
        CHECK(rnl_stream_query(scene->stream) == RNL_NOT_READY);
        await_begun(scene);
        if (cancel)
            CHECK(rnl_stream_cancel(scene->stream) == RNL_OK);
        CHECK(rnl_stream_synchronize(scene->stream, RNL_FOREVER) ==
              (cancel ? RNL_ERROR_CANCELLED : RNL_ERROR_KERNEL_LIMIT));
        CHECK(scene->words[0] == 0);
        CHECK(is_named(kernel, cancel ? "cancelled" : "limit") == 0);
        CHECK(goes_on(scene) == 0);
    }
    CHECK(rnl_graph_exec_release(exec) == RNL_OK);
    return 0;
}

static int cancel_graphs(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    for (int i = 0; i < ENDLESS; i++)
        CHECK(stop_in_graph(&scene, endless[i], 1 + i % 3, true) == 0);
    return close_scene(&scene);
}

RNL_TEST(kernels_of_graphs_are_stopped)
{
    run(cancel_graphs, "RUNNEL_KERNEL_LIMIT");
}

// A node that was changed in place is stopped like one that was not.
static int stop_changed(const struct scene *scene, bool cancel)
{
    rnl_graph graph = NULL;
    rnl_node node = {0};
    rnl_graph_exec exec = NULL;
    rnl_function kernels[2] = {NULL, NULL};
    CHECK(rnl_module_function(scene->module, "fine", &kernels[0]) == RNL_OK);
    CHECK(rnl_module_function(scene->module, "for_ever", &kernels[1]) ==
          RNL_OK);
    CHECK(rnl_graph_create(scene->context, NULL, &graph) == RNL_OK);
    for (int i = 0; i < 2; i++) {
        const rnl_node_params *params = RNL_NODE(
            .kind = RNL_NODE_FUNCTION, .function = kernels[i],
            .launch = RNL_LAUNCH(.grid = {1}, .block = {64},
                                 .label = "endless"),
            .args = RNL_ARGS(scene->buffer));
        CHECK((i == 0 ? rnl_graph_add_node(graph, RNL_AT_START, params, &node)
                      : rnl_graph_exec_set_node(exec, node, params)) ==
              RNL_OK);
        if (i == 0)
            CHECK(rnl_graph_instantiate(graph, &exec) == RNL_OK);
        CHECK(rnl_function_release(kernels[i]) == RNL_OK);
    }
    CHECK(rnl_enqueue_graph(scene->stream, exec) == RNL_OK);
    CHECK(rnl_stream_query(scene->stream) == RNL_NOT_READY);
    await_begun(scene);
    if (cancel)
        CHECK(rnl_stream_cancel(scene->stream) == RNL_OK);
    CHECK(rnl_stream_synchronize(scene->stream, UINT64_C(20000000000)) ==
          (cancel ? RNL_ERROR_CANCELLED : RNL_ERROR_KERNEL_LIMIT));
    CHECK(rnl_graph_exec_release(exec) == RNL_OK);
    CHECK(rnl_graph_release(graph) == RNL_OK);
    return goes_on(scene);
}

static int stop_changed_nodes(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(stop_changed(&scene, true) == 0);
    CHECK(close_scene(&scene) == 0);
    CHECK(open_scene(&scene, 60000000) == 0);
    CHECK(stop_changed(&scene, false) == 0);
    return close_scene(&scene);
}

RNL_TEST(a_node_that_was_changed_is_stopped)
{
    run(stop_changed_nodes, "RUNNEL_KERNEL_LIMIT");
}

// --- By a time limit -------------------------------------------------------

static int limits(const struct scene *scene, const char *kernel,
                  unsigned blocks, const char *words)
{
    CHECK(start(scene, kernel, blocks) == 0);
    CHECK(rnl_stream_synchronize(scene->stream, RNL_FOREVER) ==
          RNL_ERROR_KERNEL_LIMIT);
    CHECK(is_named(kernel, words) == 0);
    return goes_on(scene);
}

static int limit_each(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 20500000) == 0);
    for (int i = 0; i < ENDLESS; i++)
        CHECK(limits(&scene, endless[i], 1 + i % 4, "limit of 20.500 ms") ==
              0);
    return close_scene(&scene);
}

RNL_TEST(a_launch_that_reaches_its_limit_is_stopped)
{
    run(limit_each, "RUNNEL_KERNEL_LIMIT");
}

static int limit_graphs(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 60000000) == 0);
    CHECK(stop_in_graph(&scene, "for_ever", 1, false) == 0);
    CHECK(stop_in_graph(&scene, "meets", 3, false) == 0);
    CHECK(stop_in_graph(&scene, "meets_grids", 3, false) == 0);
    return close_scene(&scene);
}

RNL_TEST(a_kernel_of_a_graph_has_its_limit)
{
    run(limit_graphs, "RUNNEL_KERNEL_LIMIT");
}

// No block of it takes long.
static int limit_many_blocks(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 20000000) == 0);
    CHECK(limits(&scene, "slowly", 100000000, "limit of 20.000 ms") == 0);
    return close_scene(&scene);
}

RNL_TEST(many_short_blocks_reach_the_limit_too)
{
    run(limit_many_blocks, "RUNNEL_KERNEL_LIMIT");
}

static int limit_by_environment(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(limits(&scene, "waits", 2, "limit of 30.000 ms") == 0);
    return close_scene(&scene);
}

RNL_TEST(the_environment_gives_a_limit_in_milliseconds)
{
    run(limit_by_environment, "RUNNEL_KERNEL_LIMIT=30");
}

static int refuse_limit(void)
{
    rnl_context context = NULL;
    const char *reason = NULL;
    CHECK(rnl_context_open("cpu", 0,
                           RNL_CONTEXT_OPTIONS(.kernel_limit_ns = 1),
                           &context) == RNL_ERROR_UNSUPPORTED);
    CHECK(!strcmp(rnl_last_error()->parameter, "options"));
    CHECK(strstr(rnl_last_error()->message, "RUNNEL_CONTAIN=0"));
    CHECK(rnl_context_open("cpu", 0, NULL, &context) == RNL_OK);
    CHECK(rnl_context_supports(context, RNL_FEATURE_KERNEL_LIMIT, &reason) ==
          RNL_ERROR_UNSUPPORTED);
    CHECK(strstr(reason, "RUNNEL_CONTAIN=0"));
    CHECK(rnl_context_supports(context, RNL_FEATURE_CANCEL, NULL) == RNL_OK);
    CHECK(rnl_context_release(context) == RNL_OK);
    return 0;
}

RNL_TEST(without_handlers_there_is_no_limit)
{
    run(refuse_limit, "RUNNEL_CONTAIN=0");
}

// --- The signal ------------------------------------------------------------

static atomic_int urgent;

static void note_urgent(int number)
{
    (void)number;
    atomic_fetch_add(&urgent, 1);
}

// What is the program's own reaches it, also from within a kernel.
static int pass_on(void)
{
    struct scene scene;
    struct sigaction action = {.sa_handler = note_urgent};
    CHECK(sigaction(SIGURG, &action, NULL) == 0);
    CHECK(open_scene(&scene, 0) == 0);
    for (int i = 0; i < 20; i++)
        CHECK(raise(SIGURG) == 0);
    CHECK(atomic_load(&urgent) == 20);
    for (int i = 0; i < 5; i++)
        CHECK(cancels(&scene, "for_ever", 2) == 0);
    CHECK(atomic_load(&urgent) == 20);
    return close_scene(&scene);
}

RNL_TEST(the_programs_own_signals_reach_it)
{
    run(pass_on, "RUNNEL_KERNEL_LIMIT");
}

static int signal_in_kernel(void)
{
    struct scene scene;
    struct sigaction action = {.sa_handler = note_urgent};
    CHECK(sigaction(SIGURG, &action, NULL) == 0);
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(start(&scene, "waits", 2) == 0);
    CHECK(rnl_stream_query(scene.stream) == RNL_NOT_READY);
    await_begun(&scene);
    for (int i = 0; i < 100; i++)
        CHECK(kill(getpid(), SIGURG) == 0);
    CHECK(rnl_stream_query(scene.stream) == RNL_NOT_READY);
    __atomic_store_n(scene.words, 1, __ATOMIC_RELEASE);
    CHECK(rnl_stream_synchronize(scene.stream, RNL_FOREVER) == RNL_OK);
    CHECK(atomic_load(&urgent) > 0);
    CHECK(goes_on(&scene) == 0);
    return close_scene(&scene);
}

RNL_TEST(a_signal_that_nobody_asked_for_stops_no_kernel)
{
    run(signal_in_kernel, "RUNNEL_KERNEL_LIMIT");
}

// --- After a fork ----------------------------------------------------------

static int child_of_fork(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(cancels(&scene, "for_ever", 2) == 0);
    return close_scene(&scene);
}

static int stop_after_fork(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(cancels(&scene, "waits", 2) == 0);
    CHECK(start(&scene, "waits", 2) == 0);
    CHECK(rnl_stream_query(scene.stream) == RNL_NOT_READY);
    await_begun(&scene);
    pid_t pid = test_fork();
    if (pid == 0)
        _exit(child_of_fork());
    CHECK(test_wait(pid) == 0);
    CHECK(rnl_stream_cancel(scene.stream) == RNL_OK);
    CHECK(rnl_stream_synchronize(scene.stream, RNL_FOREVER) ==
          RNL_ERROR_CANCELLED);
    CHECK(goes_on(&scene) == 0);
    return close_scene(&scene);
}

RNL_TEST(parent_and_child_of_a_fork_stop_kernels)
{
    run(stop_after_fork, "RUNNEL_KERNEL_LIMIT");
}

// --- Many at once ----------------------------------------------------------

enum { STREAMS = 6, ROUNDS = 30 };

// Cancels race launches that end by themselves.
static int race(void)
{
    struct scene scene;
    rnl_stream streams[STREAMS];
    rnl_function function = NULL;
    CHECK(open_scene(&scene, 0) == 0);
    CHECK(rnl_module_function(scene.module, "slowly", &function) == RNL_OK);
    for (int i = 0; i < STREAMS; i++)
        CHECK(rnl_stream_create(scene.context, NULL, &streams[i]) == RNL_OK);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < STREAMS; i++)
            for (int k = 0; k < 3; k++)
                CHECK(rnl_enqueue_function(
                          streams[i], function,
                          RNL_LAUNCH(.grid = {1 + round % 5}, .block = {32}),
                          RNL_ARGS(scene.buffer)) == RNL_OK);
        for (int i = 0; i < STREAMS; i += 2)
            CHECK(rnl_stream_cancel(streams[i]) == RNL_OK);
        for (int i = 0; i < STREAMS; i++) {
            rnl_status status = rnl_stream_synchronize(streams[i],
                                                       RNL_FOREVER);
            CHECK(status == RNL_OK ||
                  (i % 2 == 0 && status == RNL_ERROR_CANCELLED));
            CHECK(rnl_stream_reset_and_wait(streams[i]) == RNL_OK);
        }
    }
    for (int i = 0; i < STREAMS; i++)
        CHECK(rnl_stream_release(streams[i]) == RNL_OK);
    CHECK(rnl_function_release(function) == RNL_OK);
    return close_scene(&scene);
}

RNL_TEST(cancels_race_launches_that_end)
{
    run(race, "RUNNEL_KERNEL_LIMIT");
}

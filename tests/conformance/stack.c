// Callers with little stack, as runtimes of other languages have.
#include "suite.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

// The least that a thread can have. Of a driver's the fake is made of the
// library, on the same stack.
#define DRIVER_STACK ((size_t)80 << 10)

#define TRY(call)                              \
    do {                                       \
        if (*status == RNL_OK)                 \
            *status = (call);                  \
    } while (0)

static const char *const wrong = "__global__ void k(int *p) { p = ; }";

static void use_graph(rnl_stream stream, rnl_buffer buffer,
                      rnl_function function, rnl_status *status)
{
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    TRY(rnl_stream_begin_capture(stream, NULL));
    TRY(rnl_enqueue_fill(stream, buffer, 0, 128, 5, 4));
    TRY(rnl_enqueue_function(stream, function,
                             RNL_LAUNCH(.grid = {2}, .block = {16}),
                             RNL_ARGS(buffer)));
    TRY(rnl_stream_end_capture(stream, &graph));
    TRY(rnl_graph_instantiate(graph, &exec));
    TRY(rnl_enqueue_graph(stream, exec));
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    rnl_graph_exec_release(exec);
    rnl_graph_release(graph);
}

// What most programs do, compiled, and compiled before, and refused.
static void *use_all(void *result)
{
    rnl_status *status = result;
    rnl_context context = NULL;
    rnl_module modules[3] = {NULL};
    rnl_function function = NULL;
    rnl_buffer buffer = NULL;
    rnl_stream stream = NULL;
    int values[32];
    char source[160];
    snprintf(source, sizeof source,
             "extern \"C\" __global__ void k(int *p)\n"
             "{ p[blockIdx.x * blockDim.x + threadIdx.x] += %d; }",
             (int)getpid());
    TRY(rnl_context_open(suite_api(), suite_index(), NULL, &context));
    TRY(rnl_module_compile(context, source, NULL, &modules[0]));
    TRY(rnl_module_compile(context, source, NULL, &modules[1]));
    if (*status == RNL_OK &&
        rnl_module_compile(context, wrong, NULL, &modules[2]) !=
            RNL_ERROR_COMPILE_FAILED)
        *status = RNL_ERROR_INTERNAL;
    TRY(rnl_module_function(modules[1], "k", &function));
    TRY(rnl_stream_create(context, NULL, &stream));
    TRY(rnl_buffer_create(context, sizeof values, NULL, &buffer));
    if (*status == RNL_OK)
        use_graph(stream, buffer, function, status);
    TRY(rnl_copy_from_buffer_and_wait(stream, values, buffer, 0,
                                      sizeof values));
    if (*status == RNL_OK && values[31] != 5 + (int)getpid())
        *status = RNL_ERROR_INTERNAL;
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    rnl_function_release(function);
    rnl_module_release(modules[0]);
    rnl_module_release(modules[1]);
    rnl_context_release(context);
    return NULL;
}

// Below it nothing may be touched.
RNL_TEST(a_thread_needs_little_stack)
{
    pthread_t thread;
    pthread_attr_t attributes;
    rnl_status status = RNL_OK;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = suite_is_cpu() ? (size_t)sysconf(_SC_THREAD_STACK_MIN)
                                 : DRIVER_STACK;
    test_need_faults();
    suite_need(RNL_FEATURE_COMPILE);
    char *memory = mmap(NULL, size + page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + page, size, PROT_READ | PROT_WRITE), 0);
    pthread_attr_init(&attributes);
    assert_int_equal(
        pthread_attr_setstack(&attributes, memory + page, size), 0);
    assert_int_equal(pthread_create(&thread, &attributes, use_all, &status),
                     0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    munmap(memory, size + page);
    assert_int_equal(status, RNL_OK);
}

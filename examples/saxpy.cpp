// y = a * x + y in C++: owners, a typed kernel, a captured graph.
//
//   y[0] = 1, y[1023] = 2047
//   after 10 launches of the graph: y[0] = 1, y[1023] = 22507
#include <cstdio>
#include <exception>
#include <vector>

#include <runnel/runnel.hpp>

static const char source[] =
    "extern \"C\" __global__\n"
    "void saxpy(int n, float a, const float *x, float *y)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        y[i] = a * x[i] + y[i];\n"
    "}\n";

static int run()
{
    const int n = 1024;
    std::vector<float> numbers(n), ones(n, 1);
    for (int i = 0; i < n; i++)
        numbers[static_cast<size_t>(i)] = static_cast<float>(i);

    runnel::context context = runnel::context::open();
    runnel::stream stream = context.create_stream();

    // The signature is checked when this file is compiled: a double for `a`, or
    // a buffer of other elements, is an error there.
    auto saxpy = context.compile<void(int, float, const float *, float *)>(
        source, "saxpy");
    auto x = context.create_buffer<float>(n);
    auto y = context.create_buffer<float>(n);
    stream.copy(x, numbers);
    stream.copy(y, ones);
    stream.launch(saxpy, {{n / 256}, {256}}, n, 2.0f, x, y);
    stream.copy(ones, y);
    stream.synchronize();
    std::printf("y[0] = %g, y[1023] = %g\n", static_cast<double>(ones[0]),
                static_cast<double>(ones[1023]));

    // What the function enqueues becomes a graph, to be launched again.
    runnel::graph graph = stream.capture([&] {
        stream.launch(saxpy, {{n / 256}, {256}}, n, 2.0f, x, y);
    });
    runnel::graph_exec exec = graph.instantiate();
    for (int i = 0; i < 10; i++)
        stream.launch(exec);
    stream.copy(ones, y);
    stream.synchronize();
    std::printf("after 10 launches of the graph: y[0] = %g, y[1023] = %g\n",
                static_cast<double>(ones[0]), static_cast<double>(ones[1023]));
    return 0;
}

int main()
{
    try {
        return run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

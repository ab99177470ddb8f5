// Runs the kernels that runnel_add_kernels put into the program. The argument
// tells what must be there: source, object or both. Objects come in the order
// of their demands.
#include <runnel/runnel.h>
#include <stdio.h>
#include <string.h>

#include KERNELS

static int fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    rnl_error_print(stderr);
    return 1;
}

static rnl_status load(rnl_context context, const rnl_embedded *embedded,
                       const char *name, rnl_function *out_function)
{
    rnl_module module;
    rnl_status status = rnl_module_load_embedded(context, embedded, &module);
    if (!status)
        status = rnl_module_function(module, name, out_function);
    if (!status)
        rnl_module_release(module);
    return status;
}

static int check_order(void)
{
    const char *const order[] = {"x86-64-v4", "x86-64-v2", "x86-64"};
    const size_t first = 3 - SCALE.object_count;
    for (size_t i = 0; i < SCALE.object_count; i++)
        if (strcmp(SCALE.objects[i].target, order[first + i]) != 0)
            return fail(SCALE.objects[i].target);
    return 0;
}

int main(int count, char **arguments)
{
    enum { COUNT = 1000 };
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_function scale, add;
    static int data[COUNT];
    const char *how = count > 1 ? arguments[1] : "";
    if ((strcmp(how, "object") == 0) != !SCALE.source ||
        (strcmp(how, "source") == 0) != !SCALE.object_count || check_order())
        return fail(how);
    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    if (rnl_context_open("cpu", 0, NULL, &context) ||
        rnl_context_default_stream(context, &stream) ||
        rnl_buffer_create_typed(context, RNL_ELEMENT_INT32, COUNT, NULL,
                                &buffer) ||
        load(context, &SCALE, "scale", &scale) ||
        load(context, &ADD, "add<int>", &add))
        return fail("a kernel does not load");
    if (rnl_enqueue_copy_to_buffer(stream, buffer, 0, data, sizeof data) ||
        rnl_enqueue_function(stream, scale, RNL_LAUNCH_FOR(COUNT),
                             RNL_ARGS(buffer, (int)COUNT)) ||
        rnl_enqueue_function(stream, add, RNL_LAUNCH_FOR(COUNT),
                             RNL_ARGS(buffer, (int)COUNT, 7)) ||
        rnl_copy_from_buffer_and_wait(stream, data, buffer, 0, sizeof data))
        return fail("a kernel does not run");
    for (int i = 0; i < COUNT; i++)
        if (data[i] != 6 * i + 7)
            return fail("a result is wrong");
    rnl_function_release(scale);
    rnl_function_release(add);
    rnl_buffer_release(buffer);
    rnl_context_release(context);
    return 0;
}

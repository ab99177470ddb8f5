// Public calls in any order, with handles of any kind, dead or alive, and with
// any numbers. There is no model: whatever is done, nothing crashes, hangs or
// leaks, and each refusal has a sentence.
//
// Each step is a byte that picks the call, and bytes for its arguments. Waits
// without a limit are left out while a promise may be open.
#include "handle.h"
#include "fuzz.h"
#include "held.h"

#include <string.h>

struct world world;

// Host memory of copies; any thread of the library may be at it.
static char arena[ARENA];

// --- Arguments --------------------------------------------------------------

unsigned byte(void)
{
    return world.at < world.end ? *world.at++ : 0;
}

// Mostly small; now and then one that overflows what it is added to.
size_t number(void)
{
    static const size_t large[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2,
                                   ARENA + 1, ARENA, (size_t)1 << 63};
    unsigned b = byte();
    return b < 0xe8 ? b * 8 % 512 : large[b % (sizeof large / sizeof *large)];
}

rnl_context context(void)
{
    return world.contexts[byte() >= 0xe0];
}

static void *of_kind(enum kind kind, unsigned choice)
{
    unsigned count = 0;
    for (size_t i = 0; i < SLOTS; i++)
        count += world.kinds[i] == kind;
    if (count == 0)
        return NULL;
    choice %= count;
    for (size_t i = 0;; i++)
        if (world.kinds[i] == kind && choice-- == 0)
            return world.slots[i];
}

void *handle(enum kind kind)
{
    unsigned b = byte();
    if (b < 0xe8)
        return of_kind(kind, b);
    if (b < 0xf4)
        return world.slots[b % SLOTS];
    if (b < 0xf8)
        return NULL;
    return b < 0xfc ? (void *)world.contexts[0] : (void *)(uintptr_t)(b << 4);
}

rnl_graph graph_or_body(void)
{
    return byte() % 8 ? handle(GRAPH) : world.body;
}

rnl_node node(void)
{
    unsigned b = byte();
    if (world.node_count == 0 || b >= 0xf8)
        return (rnl_node)(uintptr_t)(b < 0xfc ? 0 : b << 4);
    return world.nodes[b % world.node_count];
}

// --- Handles ----------------------------------------------------------------

static rnl_status release(enum kind kind, void *handle)
{
    switch (kind) {
    case STREAM: return rnl_stream_release(handle);
    case EVENT: return rnl_event_release(handle);
    case BUFFER: return rnl_buffer_release(handle);
    case GRAPH: return rnl_graph_release(handle);
    case EXEC: return rnl_graph_exec_release(handle);
    case FUNCTION: return rnl_function_release(handle);
    default: return RNL_ERROR_INVALID_HANDLE;
    }
}

static rnl_status retain(enum kind kind, void *handle)
{
    switch (kind) {
    case STREAM: return rnl_stream_retain(handle);
    case EVENT: return rnl_event_retain(handle);
    case BUFFER: return rnl_buffer_retain(handle);
    case GRAPH: return rnl_graph_retain(handle);
    case EXEC: return rnl_graph_exec_retain(handle);
    default: return rnl_function_retain(handle);
    }
}

// Drops all references that may be there. False where the handle stays alive: a
// graph that is captured into is not released.
static bool drop(size_t slot)
{
    rnl_status status = RNL_OK;
    for (int i = 0; i < 2 * STEPS && world.slots[slot] && !status; i++)
        status = release(world.kinds[slot], world.slots[slot]);
    return status != RNL_ERROR_INVALID_STATE;
}

void keep(enum kind kind, void *handle)
{
    size_t slot = 0;
    while (slot < SLOTS && world.kinds[slot] != NOTHING)
        slot++;
    for (int i = 0; slot == SLOTS && i < SLOTS; i++) {
        size_t old = world.next++ % SLOTS;
        slot = drop(old) ? old : SLOTS;
    }
    fuzz_require(slot < SLOTS, "not all handles are of captures");
    world.kinds[slot] = kind;
    world.slots[slot] = handle;
}

rnl_status keep_if(rnl_status status, enum kind kind, const void *where)
{
    void *handle;
    if (status != RNL_OK)
        return status;
    memcpy(&handle, where, sizeof handle);
    keep(kind, handle);
    return RNL_OK;
}

void keep_node(rnl_node node)
{
    if (world.node_count < NODES)
        world.nodes[world.node_count++] = node;
    else
        world.nodes[world.next++ % NODES] = node;
}

// --- Making objects ---------------------------------------------------------
//
// In C, arguments are evaluated in any order: what reads the input stands in
// lines of its own.

static rnl_status make_stream(void)
{
    rnl_stream stream;
    rnl_context on = context();
    int priority = (int)byte() - 128;
    rnl_stream_flags flags = byte() % 8;
    rnl_status status = rnl_stream_create(
        on, RNL_STREAM_OPTIONS(.priority = priority, .flags = flags), &stream);
    return keep_if(status, STREAM, &stream);
}

static rnl_status make_event(void)
{
    rnl_event event;
    rnl_context on = context();
    unsigned b = byte();
    rnl_status status = rnl_event_create(
        on,
        RNL_EVENT_OPTIONS(.timing = b & 1, .blocking_sync = b & 2,
                          .promise = b & 4, .interprocess = b == 255),
        &event);
    if (status == RNL_OK && (b & 4))
        world.promised = true;
    return keep_if(status, EVENT, &event);
}

static rnl_status make_buffer(void)
{
    rnl_buffer buffer;
    rnl_context on = context();
    size_t size = number();
    unsigned b = byte();
    rnl_status status = rnl_buffer_create(
        on, size,
        RNL_BUFFER_OPTIONS(.kind = (rnl_memory_kind)(b % 4),
                           .zeroed = b / 4 % 2),
        &buffer);
    return keep_if(status, BUFFER, &buffer);
}

static rnl_status make_buffer_in_order(void)
{
    rnl_buffer buffer;
    rnl_stream stream = handle(STREAM);
    size_t size = number();
    bool zeroed = byte() % 2;
    rnl_status status = rnl_enqueue_buffer_create(
        stream, size, RNL_BUFFER_OPTIONS(.zeroed = zeroed), &buffer);
    return keep_if(status, BUFFER, &buffer);
}

static rnl_status make_slice(void)
{
    rnl_buffer slice, buffer = handle(BUFFER);
    size_t offset = number(), size = number();
    rnl_status status = rnl_buffer_slice(buffer, offset, size, &slice);
    return keep_if(status, BUFFER, &slice);
}

static void delete(void *pointer, size_t size, void *user_data)
{
    (void)pointer, (void)size, (void)user_data;
    rnl_event_query(NULL);
}

static rnl_status wrap(void)
{
    rnl_buffer buffer;
    rnl_context on = context();
    size_t size = byte();
    unsigned b = byte();
    const rnl_wrap_options options = {
        .struct_size = sizeof options, .kind = (rnl_memory_kind)(b % 4),
        .deleter = b / 4 % 2 ? delete : NULL};
    rnl_status status = rnl_buffer_wrap(on, arena, size, &options, &buffer);
    return keep_if(status, BUFFER, &buffer);
}

// One byte of the buffer, if there is one; some launches fail.
static rnl_status run_kernel(const rnl_native_call *call)
{
    char *to = *(char *const *)call->arguments[0];
    uint64_t value = *(const uint64_t *)call->arguments[1];
    if (to)
        *(volatile char *)to = (char)value;
    return value == 7 ? RNL_ERROR_IO : RNL_OK;
}

static rnl_status make_function(void)
{
    static const rnl_parameter parameters[] = {
        {RNL_VALUE_POINTER, 8, 8, "char *"},
        {RNL_VALUE_INTEGER, 8, 8, "unsigned long"},
    };
    rnl_function function;
    rnl_status status = rnl_function_create_native(
        context(), "touch", run_kernel,
        RNL_NATIVE_OPTIONS(.parameters = parameters, .parameter_count = 2),
        &function);
    return keep_if(status, FUNCTION, &function);
}

// --- Work -------------------------------------------------------------------

static rnl_launch_attribute read_attribute(void)
{
    unsigned b = byte(), value = b / 16;
    rnl_launch_attribute attribute = {.id = (rnl_launch_attribute_id)(b % 16)};
    switch (attribute.id) {
    case RNL_LAUNCH_COOPERATIVE:
    case RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION:
    case RNL_LAUNCH_UPDATABLE_NODE:
        attribute.value.cooperative = value % 2;
        break;
    case RNL_LAUNCH_PROGRAMMATIC_EVENT:
    case RNL_LAUNCH_COMPLETION_EVENT:
        attribute.value.event.event = handle(EVENT);
        break;
    case RNL_LAUNCH_ACCESS_POLICY:
        attribute.value.access_policy = (rnl_access_policy){
            .buffer = handle(BUFFER), .size = value == 15 ? RNL_WHOLE : value,
            .offset = byte() % 32, .hit_ratio = 1};
        break;
    case RNL_LAUNCH_CLUSTER:
    case RNL_LAUNCH_PREFERRED_CLUSTER:
        attribute.value.cluster = (rnl_dim3){value % 4, value / 4, 1};
        break;
    default:
        attribute.value.priority = (int)value - 4;
        break;
    }
    return attribute;
}

void read_launch(struct launch *to)
{
    unsigned b = byte();
    *to = (struct launch){
        .launch = {.struct_size = sizeof to->launch,
                   .grid = {b % 5, 1 + b / 5 % 3, 1},
                   .block = {1 + b / 16, 1, b == 255 ? 2000 : 1},
                   .attributes = to->attributes,
                   .attribute_count = byte() % 3},
        .args = {sizeof to->args, b == 254 ? 1 : 2, to->items},
    };
    for (int i = 0; i < 2 && to->launch.attribute_count; i++)
        to->attributes[i] = read_attribute();
    // Where nothing is behind a buffer, nothing can be touched.
    rnl_buffer buffer = handle(BUFFER);
    rnl_buffer_info info = {.struct_size = sizeof info};
    bool empty = rnl_buffer_get_info(buffer, &info) == RNL_OK && !info.size;
    to->items[0] = buffer && !empty ? rnl_arg_of_buffer(buffer)
                                    : rnl_arg_of_pointer(NULL);
    to->items[1] = rnl_arg_of_integer(byte() % 16, 8);
}

static rnl_status launch(void)
{
    struct launch to;
    rnl_stream stream = handle(STREAM);
    rnl_function function = handle(FUNCTION);
    read_launch(&to);
    return rnl_enqueue_function(stream, function, &to.launch, &to.args);
}

void call_back(rnl_status status, void *user_data)
{
    (void)status;
    rnl_stream_synchronize(user_data, 0);  // may not be called here
}

// Places in buffers, or in the arena with what surely fits there.
static rnl_place place(void)
{
    if (byte() % 4 == 0)
        return (rnl_place){.pointer = arena, .offset = byte()};
    rnl_place place = {.buffer = handle(BUFFER)};
    place.offset = number();
    place.row_pitch = byte() % 2 ? number() : 0;
    place.slice_pitch = byte() % 4 ? 0 : number();
    return place;
}

rnl_copy read_copy(void)
{
    rnl_copy copy = {.struct_size = sizeof copy};
    copy.to = place();
    copy.from = place();
    bool host = copy.to.pointer || copy.from.pointer;
    copy.width = host ? byte() : number();
    copy.height = host ? byte() % 4 : number();
    copy.depth = host ? byte() % 3 : number();
    return copy;
}

rnl_fill read_fill(void)
{
    rnl_fill fill = {.struct_size = sizeof fill};
    fill.to.buffer = handle(BUFFER);
    fill.to.offset = number();
    fill.pattern = byte();
    fill.width = number();
    fill.height = byte() % 4;
    fill.depth = byte() % 3;
    fill.pattern_size = byte() % 10;
    return fill;
}

rnl_value_op read_value(void)
{
    unsigned b = byte();
    rnl_value_op op = {.struct_size = sizeof op, .action = RNL_WRITE_VALUE,
                       .width = b % 3 ? 32 : 64, .flags = b / 3 % 8,
                       .value = b};
    op.buffer = handle(BUFFER);
    op.offset = number();
    return op;
}

static rnl_status copy(unsigned way)
{
    rnl_stream stream = handle(STREAM);
    rnl_buffer buffer = handle(BUFFER), other;
    size_t offset = number(), size = number();
    uint64_t pattern;
    size_t fits = size % (ARENA + 1);
    rnl_copy copies[2];
    switch (way % 8) {
    case 0: return rnl_enqueue_copy_to_buffer(stream, buffer, offset, arena,
                                              fits);
    case 1: return rnl_enqueue_copy_from_buffer(stream, arena, buffer, offset,
                                                fits);
    case 2:
        other = handle(BUFFER);
        return rnl_enqueue_copy_buffer(stream, buffer, offset, other, number(),
                                       size);
    case 3: return rnl_enqueue_copy(stream, arena, arena + ARENA / 2, fits / 2);
    case 4:
    case 5:
        copies[0] = read_copy();
        return rnl_enqueue_copy_region(stream, copies);
    case 6:
        copies[0] = read_copy();
        copies[1] = read_copy();
        return rnl_enqueue_copy_batch(stream, copies, byte() % 3);
    default:
        pattern = byte();
        return rnl_enqueue_fill(stream, buffer, offset, size, pattern,
                                byte() % 10);
    }
}

static rnl_status tell_of_memory(unsigned way)
{
    rnl_stream stream = handle(STREAM);
    rnl_buffer buffer = handle(BUFFER);
    size_t offset = number(), size = number();
    unsigned what = byte();
    if (way % 2)
        return rnl_enqueue_attach(stream, buffer, (rnl_attach_mode)(what % 4));
    return rnl_enqueue_prefetch(stream, buffer, offset, size,
                                (rnl_memory_target)(what % 3));
}

static rnl_status work(unsigned way)
{
    rnl_fill fill;
    rnl_value_op values[2];
    rnl_stream stream = handle(STREAM);
    switch (way % 12) {
    case 0: case 1: case 2: return launch();
    case 3: case 4: case 5: case 6: return copy(byte());
    case 7: return rnl_enqueue_host_function(stream, call_back, stream);
    case 8:
        fill = read_fill();
        return rnl_enqueue_fill_region(stream, &fill);
    case 9:
        values[0] = read_value();
        values[1] = read_value();
        return rnl_enqueue_values(stream, values, byte() % 3);
    default: return tell_of_memory(way);
    }
}

// --- Order ------------------------------------------------------------------

// A stream that waits for a promise must not record it: one that is new does.
static rnl_status record_promise(void)
{
    rnl_stream stream;
    rnl_status status = rnl_stream_create(world.contexts[0], NULL, &stream);
    if (status != RNL_OK)
        return status;
    status = rnl_enqueue_event_record(stream, handle(EVENT));
    rnl_stream_release(stream);
    return status;
}

// Whether an event is a promise is told by how it was made; here all may be, so
// that streams record none once there is one.
static rnl_status record(void)
{
    if (world.promised)
        return record_promise();
    rnl_stream stream = handle(STREAM);
    return rnl_enqueue_event_record(stream, handle(EVENT));
}

static rnl_status wait_for_end(void)
{
    rnl_stream stream = handle(STREAM);
    if (world.promised)
        return rnl_stream_synchronize(stream, byte());
    return byte() % 2 ? rnl_stream_reset_and_wait(stream)
                      : rnl_stream_synchronize(stream, RNL_FOREVER);
}

static rnl_status order(unsigned way)
{
    uint64_t ns;
    rnl_stream stream = handle(STREAM);
    rnl_event event = handle(EVENT);
    switch (way % 12) {
    case 0: case 1: return record();
    case 2: case 3: return rnl_enqueue_wait_event(stream, event);
    case 4: return rnl_enqueue_wait_stream(stream, handle(STREAM));
    case 5: return rnl_enqueue_wait_context(stream, context());
    case 6: return rnl_stream_query(stream);
    case 7: return rnl_event_query(event);
    case 8: return rnl_event_synchronize(event, byte() * 1000);
    case 9: return rnl_event_elapsed(event, handle(EVENT), &ns);
    case 10: return byte() % 4 ? rnl_stream_flush(stream)
                               : rnl_stream_cancel(stream);
    default: return wait_for_end();
    }
}

// --- All --------------------------------------------------------------------

static rnl_status make(unsigned way)
{
    switch (way % 10) {
    case 0: case 1: return make_stream();
    case 2: case 3: return make_event();
    case 4: return make_buffer();
    case 5: return make_buffer_in_order();
    case 6: return make_slice();
    case 7: return wrap();
    case 8: return make_function();
    default: return change_graph(4);
    }
}

static rnl_status give_back(unsigned way)
{
    enum kind kind = (enum kind)(FUNCTION + way / 8 % (KINDS - FUNCTION));
    rnl_stream stream = handle(STREAM);
    rnl_buffer buffer = handle(BUFFER);
    switch (way % 8) {
    case 0: case 1: case 2: case 3: return release(kind, handle(kind));
    case 4: return retain(kind, handle(kind));
    case 5: return rnl_enqueue_buffer_release(stream, buffer);
    case 6: return rnl_buffer_set_release_stream(buffer, stream);
    default: return rnl_context_trim(world.contexts[0], number());
    }
}

static rnl_status step(void)
{
    unsigned b = byte(), way = byte();
    switch (b % 16) {
    case 0: case 1: case 2: return make(way);
    case 3: return give_back(way);
    case 4: case 5: case 6: return work(way);
    case 7: case 8: return order(way);
    case 9: case 10: return add_node();
    case 11: return change_graph(way);
    case 12: return look_at_graph(way);
    case 13: case 14: return run_graph(way);
    default: return capture(way);
    }
}

static void begin(const uint8_t *data, size_t size)
{
    world = (struct world){.at = data, .end = data + size};
    unsigned threads = 1 + byte() % 3;
    for (int i = 0; i < 2; i++)
        fuzz_require(rnl_context_open("cpu", 0,
                                      RNL_CONTEXT_OPTIONS(.threads = threads),
                                      &world.contexts[i]) == RNL_OK,
                     "a context");
}

static void end(void)
{
    // Who waits for a promise that is broken goes on. A graph that is captured
    // into is not released before its stream.
    for (enum kind kind = KINDS - 1; kind > NOTHING; kind--)
        for (size_t i = 0; i < SLOTS; i++)
            if (world.kinds[i] == kind)
                drop(i);
    for (int i = 0; i < 2; i++)
        rnl_context_release(world.contexts[i]);
    fuzz_wait_for_nothing();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin(data, size);
    for (int i = 0; i < STEPS && world.at < world.end; i++) {
        rnl_last_error_clear();
        rnl_status status = step();
        fuzz_require(status == RNL_OK || status == RNL_NOT_READY ||
                         (rnl_last_error()->status == status &&
                          rnl_last_error()->message[0]) ||
                         status == RNL_ERROR_INVALID_HANDLE,
                     "a failure has a sentence");
    }
    end();
    return 0;
}

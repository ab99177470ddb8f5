// What libamdhip64 has in another shape than the driver's table, or does in
// another way than CUDA; seen in versions 5.2.3, 5.7.1, 6.4.3 and 7.2.4. The
// rest is the fake of CUDA.
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hip/abi.h"

#define ADAPTED(name, vendor, suffix, since, need, why, result, parameters) \
    FAKE_EXPORT hip_##name##_fn vendor;
#define OTHER ADAPTED
#include "backends/hip/symbols.def"

enum { VERSION_6 = 60000000 };

// --- Errors -----------------------------------------------------------------

const char *hipGetErrorName(int code)
{
    static const struct {
        int code, since;
        const char *name;
    } errors[] = {
#define HIP_ERROR(code, name, since) {code, since, #name},
#include "hip_errors.def"
#undef HIP_ERROR
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code && fake_version() >= errors[i].since)
            return errors[i].name;
    return "hipErrorUnknown";
}

// 5.2 only repeats the name.
const char *hipGetErrorString(int code)
{
    const char *text = NULL;
    if (fake_version() < 50300000 || fake_error_text(code, &text))
        return hipGetErrorName(code);
    return code == FAKE_NO_DEVICE ? "no ROCm-capable device is detected" : text;
}

// --- Devices ----------------------------------------------------------------

int fake_attribute_of(int attribute)
{
    static const unsigned char numbers[] = {
        [1] = 109, [2] = 40, [3] = 19, [4] = 91, [5] = 13, [6] = 20, [7] = 90,
        [8] = 31, [9] = 89, [10] = 95, [16] = 18, [18] = 17, [19] = 38,
        [23] = 75, [24] = 83, [25] = 106, [26] = 2, [27] = 3, [28] = 4,
        [29] = 5, [30] = 6, [31] = 7, [56] = 1, [57] = 39, [58] = 11,
        [59] = 37, [60] = 36, [61] = 76, [63] = 16, [65] = 88, [66] = 100,
        [67] = 33, [68] = 34, [69] = 50, [71] = 12, [72] = 82, [74] = 8,
        [75] = 97, [76] = 81, [78] = 78, [81] = 14, [83] = 9, [85] = 41,
        [87] = 10, [88] = 115,
    };
    enum { CAN_WAIT_VALUE = 10013, CUDA_CAN_WAIT_VALUE_NOR = 123 };
    if (attribute == CAN_WAIT_VALUE)
        return getenv("RUNNEL_FAKE_NO_WAITS") ? 0 : CUDA_CAN_WAIT_VALUE_NOR;
    return attribute >= 0 && attribute < (int)sizeof numbers
               ? numbers[attribute] : 0;
}

// Opens the device, for as long as the process lives.
static int context_of(int device, void **out_context)
{
    *out_context = fake_context_of(device < 0 ? 0 : device);
    if (device < 0 || device >= fake_device_count_now())
        return FAKE_INVALID_DEVICE;
    if (((struct fake_context *)*out_context)->references)
        return FAKE_OK;
    fake_enter_as("hipSetDevice");
    return fake_primary_retain(out_context, device);
}

int hipSetDevice(int device)
{
    void *context;
    int code = context_of(device, &context);
    return code ? code : fake_context_set(context);
}

static int properties_of(const char *name, void *out_properties, int device,
                         size_t arch_at)
{
    void *context;
    fake_enter_named(name);
    int code = context_of(device, &context);
    if (!code)
        strcpy((char *)out_properties + arch_at, fake_arch(device));
    return code;
}

int hipGetDeviceProperties(void *out_properties, int device)
{
    return properties_of(__func__, out_properties, device, 396);
}

int hipGetDevicePropertiesR0600(void *out_properties, int device)
{
    return properties_of(__func__, out_properties, device, 1160);
}

int hipDeviceEnablePeerAccess(int device, unsigned flags)
{
    void *context;
    int code = context_of(device, &context);
    return code ? code : fake_context_enable_peer(context, flags);
}

int hipDeviceDisablePeerAccess(int device)
{
    void *context;
    int code = context_of(device, &context);
    return code ? code : fake_context_disable_peer(context);
}

// --- Streams ----------------------------------------------------------------

int hipStreamWaitValue32(void *stream, uint64_t address, uint32_t value,
                         unsigned flags, uint32_t mask)
{
    return mask == UINT32_MAX
               ? fake_stream_wait32(stream, address, value, flags)
               : FAKE_NOT_SUPPORTED;
}

static int submit(const char *name, void *stream, struct driver_value value)
{
    fake_enter_as(name);
    return fake_stream_batch(stream, 1, &value, 0);
}

int hipStreamWriteValue64(void *stream, uint64_t address, uint64_t value,
                          unsigned flags)
{
    return submit("hipStreamWriteValue64", stream,
                  (struct driver_value){DRIVER_WRITE64, address, value, flags,
                                        0, 0});
}

int hipStreamWaitValue64(void *stream, uint64_t address, uint64_t value,
                         unsigned flags, uint64_t mask)
{
    return mask == UINT64_MAX
               ? submit("hipStreamWaitValue64", stream,
                        (struct driver_value){DRIVER_WAIT64, address, value,
                                              flags, 0, 0})
               : FAKE_NOT_SUPPORTED;
}

// Only how the host waits can be set.
int hipStreamSetAttribute(void *stream, int id, const void *value)
{
    return id == DRIVER_LAUNCH_SYNC_POLICY
               ? fake_stream_set_attribute(stream, id, value)
               : FAKE_INVALID_VALUE;
}

int hipStreamGetAttribute(void *stream, int id, void *out_value)
{
    return id == DRIVER_LAUNCH_SYNC_POLICY || id == DRIVER_LAUNCH_PRIORITY
               ? fake_stream_get_attribute(stream, id, out_value)
               : FAKE_INVALID_VALUE;
}

int hipStreamGetFlags(void *stream, unsigned *out_flags)
{
    return stream ? fake_stream_flags(stream, out_flags) : FAKE_INVALID_VALUE;
}

int hipStreamGetDevice(void *stream, int *out_device)
{
    void *context;
    int code = fake_stream_context(stream, &context);
    if (!code)
        *out_device = ((struct fake_context *)context)->device;
    return code;
}

// --- Memory -----------------------------------------------------------------

// Memory that is not asked for as coherent may not be.
int hipHostMalloc(void **out_pointer, size_t size, unsigned flags)
{
    if (!(flags & HIP_HOST_COHERENT))
        return FAKE_INVALID_VALUE;
    return fake_host_allocate(out_pointer, size, flags & ~HIP_HOST_COHERENT);
}

// The kinds of memory had other numbers before 6.0, and none for memory that
// HIP does not know.
static int renumber(unsigned *type)
{
    if (fake_version() >= VERSION_6)
        return FAKE_OK;
    if (*type == 0)
        return FAKE_INVALID_VALUE;
    *type = *type == 1 ? 0 : *type == 2 ? 1 : 3;
    return FAKE_OK;
}

int hipDrvPointerGetAttributes(unsigned count, int *attributes,
                               void **out_values, uint64_t address)
{
    int code = fake_pointer_attributes(count, attributes, out_values, address);
    for (unsigned i = 0; i < count && !code; i++)
        if (attributes[i] == DRIVER_POINTER_MEMORY_TYPE)
            code = renumber(out_values[i]);
    return code;
}

int hipIpcOpenMemHandle(uint64_t *out_address, struct driver_share key,
                        unsigned flags)
{
    unsigned lazy = fake_version() < VERSION_6 ? 0 : 1;
    return flags == lazy ? fake_memory_open(out_address, key,
                                            DRIVER_SHARE_LAZY_PEER)
                         : FAKE_INVALID_VALUE;
}

// --- Copies and fills -------------------------------------------------------

int hipMemcpyAsync(uint64_t to, uint64_t from, size_t size, int kind,
                   void *stream)
{
    return kind == HIP_COPY_DEFAULT ? fake_copy(to, from, size, stream)
                                    : FAKE_INVALID_VALUE;
}

static int kind_of(const void *pointer)
{
    return fake_is_ordinary(pointer) ? DRIVER_MEMORY_HOST
                                     : DRIVER_MEMORY_UNIFIED;
}

// Rows must not be shorter than what is copied, also where there is one.
static int convert(const struct hip_copy *from, struct driver_copy *to)
{
    if (from->kind != HIP_COPY_DEFAULT || from->from_array || from->to_array ||
        from->from.pitch < from->width || from->to.pitch < from->width ||
        from->from.height < from->height || from->to.height < from->height)
        return FAKE_INVALID_VALUE;
    *to = (struct driver_copy){
        .from_x = from->from_x,
        .from_y = from->from_y,
        .from_z = from->from_z,
        .from_type = kind_of(from->from.pointer),
        .from_host = from->from.pointer,
        .from_device = (uintptr_t)from->from.pointer,
        .from_pitch = from->from.pitch,
        .from_height = from->from.height,
        .to_x = from->to_x,
        .to_y = from->to_y,
        .to_z = from->to_z,
        .to_type = kind_of(from->to.pointer),
        .to_host = from->to.pointer,
        .to_device = (uintptr_t)from->to.pointer,
        .to_pitch = from->to.pitch,
        .to_height = from->to.height,
        .width = from->width,
        .height = from->height,
        .depth = from->depth,
    };
    return FAKE_OK;
}

int hipMemcpy3DAsync(const struct hip_copy *copy, void *stream)
{
    struct driver_copy other;
    int code = convert(copy, &other);
    return code ? code : fake_copy_3d(&other, stream);
}

int hipMemset2DAsync(uint64_t to, size_t pitch, int value, size_t width,
                     size_t height, void *stream)
{
    return fake_fill8_2d(to, pitch, (unsigned char)value, width, height,
                         stream);
}

// --- Modules and launches ---------------------------------------------------

int hipModuleLoadData(void **out_module, const void *image)
{
    return fake_module_load(out_module, image, 0, NULL, NULL);
}

// A window in CUDA's form.
static struct driver_launch_attribute attribute_of(int id, const void *bytes)
{
    struct driver_launch_attribute other = {.id = id};
    struct hip_window window;
    memcpy(other.bytes, bytes, sizeof other.bytes);
    if (id != DRIVER_LAUNCH_ACCESS_POLICY)
        return other;
    memcpy(&window, bytes, sizeof window);
    other.window.base = window.base;
    other.window.size = window.size;
    other.window.hit_ratio = window.hit_ratio;
    other.window.hit = window.hit;
    other.window.miss = window.miss;
    return other;
}

int hipDrvLaunchKernelEx(const struct driver_launch *launch, void *function,
                         void **arguments, void **extra)
{
    enum { MOST = 16 };
    struct driver_launch_attribute attributes[MOST];
    struct driver_launch other = *launch;
    if (launch->attribute_count > MOST)
        return FAKE_INVALID_VALUE;
    other.attributes = attributes;
    for (unsigned i = 0; i < launch->attribute_count; i++) {
        attributes[i] = attribute_of(launch->attributes[i].id,
                                     launch->attributes[i].bytes);
        switch (launch->attributes[i].id) {
        case DRIVER_LAUNCH_ACCESS_POLICY:
        case DRIVER_LAUNCH_COOPERATIVE:
        case DRIVER_LAUNCH_SYNC_POLICY:
        case DRIVER_LAUNCH_PRIORITY:
            break;
        default:
            return FAKE_INVALID_VALUE;
        }
    }
    return fake_launch_with(&other, function, arguments, extra);
}

int hipModuleLaunchCooperativeKernel(void *function, unsigned grid_x,
                                     unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y,
                                     unsigned block_z, unsigned shared_size,
                                     void *stream, void **arguments)
{
    struct driver_launch_attribute cooperative = {
        .id = DRIVER_LAUNCH_COOPERATIVE,
        .number = 1,
    };
    struct driver_launch launch = {
        grid_x,      grid_y, grid_z,       block_x, block_y, block_z,
        shared_size, stream, &cooperative, 1,
    };
    fake_enter_as("hipModuleLaunchCooperativeKernel");
    return fake_launch_with(&launch, function, arguments, NULL);
}

// --- Graphs -----------------------------------------------------------------

static struct driver_kernel_node kernel_of(const struct hip_kernel_node *node)
{
    return (struct driver_kernel_node){
        node->function,    node->grid.x,  node->grid.y,    node->grid.z,
        node->block.x,     node->block.y, node->block.z,   node->shared_size,
        node->arguments,   node->extra,
    };
}

static struct driver_fill_node fill_of(const struct hip_fill_node *fill)
{
    return (struct driver_fill_node){
        (uintptr_t)fill->to, fill->pitch, fill->value,
        fill->element_size,  fill->width, fill->height,
    };
}

int hipGraphAddKernelNode(void **out_node, void *graph, void *const *after,
                          size_t count, const struct hip_kernel_node *params)
{
    struct driver_kernel_node node = kernel_of(params);
    return fake_graph_add_kernel(out_node, graph, after, count, &node);
}

int hipGraphAddMemcpyNode(void **out_node, void *graph, void *const *after,
                          size_t count, const struct hip_copy *copy)
{
    struct driver_copy other;
    int code = convert(copy, &other);
    return code ? code
                : fake_graph_add_copy(out_node, graph, after, count, &other,
                                      fake_current());
}

int hipGraphAddMemsetNode(void **out_node, void *graph, void *const *after,
                          size_t count, const struct hip_fill_node *fill)
{
    struct driver_fill_node other = fill_of(fill);
    return fake_graph_add_fill(out_node, graph, after, count, &other,
                               fake_current());
}

// A thread of the GPU for each operation: here the last one comes first.
int hipGraphAddBatchMemOpNode(void **out_node, void *graph, void *const *after,
                              size_t count,
                              const struct driver_values_node *params)
{
    enum { MOST = 256 };
    struct driver_value reversed[MOST];
    struct driver_values_node node = *params;
    if (params->count > MOST)
        return FAKE_INVALID_VALUE;
    for (unsigned i = 0; i < params->count; i++)
        reversed[params->count - 1 - i] = params->values[i];
    node.values = reversed;
    return fake_graph_add_values(out_node, graph, after, count, &node);
}

// Knows freeing at launch and priorities. A failure leaves anything behind.
int hipGraphInstantiateWithFlags(void **out_exec, void *graph,
                                 unsigned long long flags)
{
    int code = flags & ~9ull ? FAKE_INVALID_VALUE
                             : fake_graph_instantiate(out_exec, graph, flags);
    if (code)
        *out_exec = (void *)(uintptr_t)0xbad;
    return code;
}

int hipGraphUpload(void *exec, void *stream)
{
    return fake_exec_upload(exec, stream);
}

int hipGraphExecKernelNodeSetParams(void *exec, void *node,
                                    const struct hip_kernel_node *params)
{
    struct driver_kernel_node other = kernel_of(params);
    return fake_exec_set_kernel(exec, node, &other);
}

int hipGraphExecMemcpyNodeSetParams(void *exec, void *node,
                                    const struct hip_copy *copy)
{
    struct driver_copy other;
    int code = convert(copy, &other);
    return code ? code : fake_exec_set_copy(exec, node, &other,
                                            fake_current());
}

int hipGraphExecMemsetNodeSetParams(void *exec, void *node,
                                    const struct hip_fill_node *fill)
{
    struct driver_fill_node other = fill_of(fill);
    return fake_exec_set_fill(exec, node, &other, fake_current());
}

int hipGraphKernelNodeSetAttribute(void *node, int id, const void *value)
{
    struct driver_launch_attribute other = attribute_of(id, value);
    return fake_kernel_node_attribute(node, id, other.bytes);
}

// Modules of kernels that a program has in itself.
#include "base/text.h"
#include "core/module/module.h"
#include "core/module/source.h"
#include "core/object/check.h"

#include <runnel/embedded.h>

static rnl_status check_object(const rnl_embedded *embedded, size_t index)
{
    const rnl_embedded_object *object = &embedded->objects[index];
    return object->data && object->target
               ? RNL_OK
               : fail_at(RNL_ERROR_INVALID_ARGUMENT, "embedded",
                         "'embedded.objects[%zu]' has no data or no target",
                         index);
}

static rnl_status check(const rnl_embedded *embedded)
{
    if (embedded->object_count > 0 && !embedded->objects)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "embedded",
                       "'embedded.objects' is NULL though 'object_count' is "
                       "%zu",
                       embedded->object_count);
    if (embedded->object_count == 0 && !embedded->source)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "embedded",
                       "'embedded' has neither source nor objects");
    rnl_status status = RNL_OK;
    for (size_t i = 0; status == RNL_OK && i < embedded->object_count; i++)
        status = check_object(embedded, i);
    return status;
}

static const char *name_of(const rnl_embedded *embedded)
{
    return embedded->name && embedded->name[0] ? embedded->name : "kernel.cu";
}

static rnl_status read_source(const rnl_embedded *embedded,
                              rnl_module_options *out_options,
                              struct source *out_source)
{
    rnl_module_options options = {
        .struct_size = sizeof options,
        .name = embedded->name,
        .options = embedded->options,
        .option_count = embedded->option_count,
        .headers = embedded->headers,
        .header_count = embedded->header_count,
        .name_expressions = embedded->name_expressions,
        .name_expression_count = embedded->name_expression_count,
        .label = embedded->name,
    };
    return source_check(embedded->source, &options, out_options, out_source);
}

// The failure just recorded is why the last object does not load.
static rnl_status refuse_objects(const rnl_embedded *embedded)
{
    struct text targets = {0}, why = {0};
    for (size_t i = 0; i < embedded->object_count; i++)
        text_add(&targets, i ? ", %s" : "%s", embedded->objects[i].target);
    text_add(&why, "%s", rnl_last_error()->message);
    fail_at(RNL_ERROR_INVALID_BINARY, "embedded",
            "no object of %s (%s) can be loaded on this device: %s; embed the "
            "source, too",
            name_of(embedded), text_get(&targets), text_get(&why));
    text_finish(&targets);
    text_finish(&why);
    return RNL_ERROR_INVALID_BINARY;
}

// The first object that fits the device, else the source. The source is checked
// first, so that a fault in it shows on every machine.
static rnl_status load(rnl_context context, const rnl_embedded *embedded,
                       rnl_module *out_module)
{
    rnl_module_options options;
    struct source source;
    rnl_status status = embedded->source
                            ? read_source(embedded, &options, &source)
                            : RNL_OK;
    if (status != RNL_OK)
        return status;
    status = RNL_ERROR_INVALID_BINARY;
    for (size_t i = 0;
         status == RNL_ERROR_INVALID_BINARY && i < embedded->object_count;
         i++) {
        const rnl_embedded_object *object = &embedded->objects[i];
        status = module_load_copy(context, object->data, object->size,
                                  embedded->name, out_module);
    }
    if (status != RNL_ERROR_INVALID_BINARY)
        return status;
    return embedded->source
               ? module_compile_source(context, &source, out_module)
               : refuse_objects(embedded);
}

rnl_status rnl_module_load_embedded(rnl_context context,
                                    const rnl_embedded *given,
                                    rnl_module *out_module)
{
    struct context *checked = NULL;
    rnl_embedded embedded;
    CALL status = ENTER();
    if (status == RNL_OK)
        status = check_context(context, "context", &checked);
    if (status == RNL_OK)
        status = check_pointer(given, "embedded");
    if (status == RNL_OK)
        status = options_read(&embedded, sizeof embedded, given, "embedded");
    if (status == RNL_OK)
        status = check(&embedded);
    if (status == RNL_OK)
        status = check_pointer(out_module, "out_module");
    if (status == RNL_OK)
        status = module_check_loads(checked);
    return status == RNL_OK ? load(context, &embedded, out_module) : status;
}

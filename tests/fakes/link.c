// The linker of the fake: PTX to a cubin.
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWEST = 90 };  // version of PTX

struct fake_link {
    struct fake_object object;
    void *cubin;
    size_t size;
};

int fake_link_create(unsigned count, int *options, void **values,
                     void **out_link)
{
    struct fake_context *context;
    (void)options;
    (void)values;
    int code = fake_enter(FAKE_link_create, &context);
    if (code)
        return code;
    if (count || !out_link)
        return FAKE_INVALID_VALUE;
    *out_link = fake_new(KIND_LINK, context, sizeof(struct fake_link));
    return *out_link ? FAKE_OK : FAKE_OUT_OF_MEMORY;
}

// Whether each kernel does, before all else.
static bool all_wait(const char *text)
{
    static const char wait[] = "\n\tgriddepcontrol.wait;";
    bool all = strstr(text, ".entry") != NULL;
    while (all && (text = strstr(text, ".entry")) != NULL) {
        const char *body = strchr(text, '{');
        all = body && strncmp(body + 1, wait, sizeof wait - 1) == 0;
        text++;
    }
    return all;
}

static bool is_too_new(const char *text)
{
    int major = 0, minor = 0;
    const char *version = strstr(text, ".version");
    return version && sscanf(version, ".version %d.%d", &major, &minor) == 2 &&
           major * 10 + minor > NEWEST;
}

int fake_link_add(void *handle, int type, void *data, size_t size,
                  const char *name, unsigned count, int *options,
                  void **values)
{
    struct fake_context *context;
    size_t payload_size;
    (void)options;
    (void)values;
    int code = fake_enter(FAKE_link_add, &context);
    if (code)
        return code;
    struct fake_link *link = fake_find(KIND_LINK, handle);
    const char *text = data;
    if (!link || link->cubin || type != DRIVER_LINK_ASSEMBLY || !data ||
        !size || text[size - 1] || !name || count)
        return FAKE_INVALID_VALUE;
    if (is_too_new(text))
        return FAKE_UNSUPPORTED_PTX;
    fake_use_stack();
    void *payload = fake_payload(text, &payload_size, &code);
    if (!payload)
        return code;
    link->cubin =
        fake_cubin(payload, payload_size, all_wait(text), &link->size);
    free(payload);
    return link->cubin ? FAKE_OK : FAKE_OUT_OF_MEMORY;
}

int fake_link_complete(void *handle, void **out_data, size_t *out_size)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_link_complete, &context);
    if (code)
        return code;
    struct fake_link *link = fake_find(KIND_LINK, handle);
    if (!link || !link->cubin)
        return FAKE_INVALID_VALUE;
    *out_data = link->cubin;
    *out_size = link->size;
    return FAKE_OK;
}

int fake_link_destroy(void *handle)
{
    int code = fake_enter(FAKE_link_destroy, NULL);
    struct fake_link *link = fake_find(KIND_LINK, handle);
    if (!link)
        return FAKE_INVALID_VALUE;
    free(link->cubin);
    fake_delete(link);
    return code;
}

// Binaries of modules, up to where a loader would map them. The first byte says
// what the rest is.
#include "backends/cpu/jit/object_file.h"
#include "backends/cuda/ptx.h"
#include "backends/cudalike/driver/image.h"
#include "base/dynlib.h"
#include "fuzz.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 64 };  // of an image is not longer

// In the place of base/dynlib.c's: no mutated code is ever mapped.
void *__wrap_dynlib_load(const char *path);
void *__wrap_dynlib_load(const char *path)
{
    (void)path;
    dlopen("/dev/null/nothing", RTLD_NOW);  // dlerror has words then
    return NULL;
}

// --- Objects of the cpu backend ----------------------------------------------

static void load(const void *data, size_t size)
{
    struct loaded_object object;
    fuzz_require(object_file_load(data, size, &object) != RNL_OK,
                 "nothing is loaded here");
    fuzz_require(rnl_last_error()->message[0], "a refusal has a sentence");
}

static void load_sealed(const void *data, size_t size)
{
    void *sealed;
    size_t sealed_size;
    if (object_file_wrap(data, size, &sealed, &sealed_size) != RNL_OK)
        return;
    load(sealed, sealed_size);
    mem_release(sealed, sealed_size);
}

// --- Images of CUDA ----------------------------------------------------------

static void look_at_items(const struct image *image)
{
    struct image_item item, found;
    image_waits(image);
    for (size_t i = 0; image_item(image, i, &item); i++) {
        fuzz_require(!item.name[0] ||
                         image_find(image, item.kind, item.name, &found),
                     "an item is found by its name");
        image_find(image, item.kind, item.symbol, &found);
        for (size_t k = 0; k < item.parameter_count; k++)
            image_parameter(image, &item, k);
    }
}

static void open_stored(const void *data, size_t size)
{
    struct image image;
    if (image_is_stored(data, size) && !image_open(data, size, &image))
        look_at_items(&image);
}

static void open_sealed(const void *data, size_t size)
{
    void *copy = malloc(size + 1);
    fuzz_require(copy, "memory");
    memcpy(copy, data, size);
    if (size >= HEADER && image_is_stored(copy, size))
        image_seal(copy, size);
    open_stored(copy, size);
    free(copy);
}

static void judge(const void *data, size_t size)
{
    static const struct image_vendor vendor = {190, 0xBA55ED50, ".version"};
    enum image_form form;
    image_vendor_fault(&vendor, data, size, &form);
}

// --- PTX --------------------------------------------------------------------

static void read_ptx(const void *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct image_maker maker = {0};
    void *table;
    size_t table_size;
    ptx_read(text, &maker);
    if (image_finish(&maker, text, size + 1, &table, &table_size)) {
        struct image image;
        fuzz_require(!image_open(table, table_size, &image),
                     "an image that was made opens");
        look_at_items(&image);
        mem_release(table, table_size);
    }
    free(text);
}

static void wait_first(const void *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct text out = {0};
    ptx_wait_first(text, &out);
    text_finish(&out);
    free(text);
}

static void read_name(const void *data, size_t size)
{
    char *text = fuzz_text(data, size), name[64];
    image_plain_name(text, name, sizeof name);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const ways[])(const void *data, size_t size) = {
        load, load_sealed, judge, open_stored, open_sealed, read_ptx,
        wait_first, read_name};
    if (size == 0)
        return 0;
    setenv("TMPDIR", fuzz_folder(), 1);
    // Aligned as memory of the core's is, and not a byte longer.
    uint8_t *rest = malloc(size > 1 ? size - 1 : 1);
    fuzz_require(rest, "memory");
    memcpy(rest, data + 1, size - 1);
    ways[data[0] % (sizeof ways / sizeof *ways)](rest, size - 1);
    free(rest);
    return 0;
}

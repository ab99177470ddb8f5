// The binaries of modules: a vendor's image with a table in front.
//
// The table has what a vendor's image does not tell, or only a driver could:
// the names of kernels and variables as they were asked for, and the kinds and
// sizes of parameters. What Runnel stores has a table; of an image that comes
// from elsewhere one is made where its form allows. Whatever is read was
// checked before: a binary may come from anywhere.
#pragma once

#include "base/text.h"

#include <runnel/module.h>

// --- A vendor's image --------------------------------------------------------

enum image_form {
    IMAGE_ELF,
    IMAGE_FATBIN,
    IMAGE_ASSEMBLY,  // ends in a zero
};

// What a vendor's image starts with, and the machine in its ELF header.
struct image_vendor {
    uint16_t machine;
    uint32_t fatbin_magic;
    const char *assembly;  // the directive that comes first
};

// Why these bytes are no image, or NULL. An assembly may lack its zero.
const char *image_vendor_fault(const struct image_vendor *vendor,
                               const void *data, size_t size,
                               enum image_form *out_form);

// --- What Runnel stores ------------------------------------------------------

enum image_kind {
    IMAGE_KERNEL = 1,
    IMAGE_VARIABLE = 2,
};

struct image_header;
struct image_entry;
struct image_parameter;

// Points into the bytes that were given.
struct image {
    const struct image_header *header;
    const struct image_entry *entries;
    const struct image_parameter *parameters;
    const char *text;
    const void *vendor;
    size_t vendor_size;
};

// One kernel or variable.
struct image_item {
    enum image_kind kind;
    const char *name;    // as in the source, or as asked for; "" where another
                         // item has the name of its symbol
    const char *symbol;  // as in the vendor's image
    bool typed;          // what parameters it has is known
    uint32_t first, parameter_count;
};

// True when the bytes claim to be what Runnel stores.
bool image_is_stored(const void *data, size_t size);

// Opens what Runnel stored, aligned to 8 bytes; or says what is wrong with it.
const char *image_open(const void *data, size_t size, struct image *out_image);

// Whether its kernels begin by waiting for what they come after.
bool image_waits(const struct image *image);

// False past the end.
bool image_item(const struct image *image, size_t index,
                struct image_item *out_item);
bool image_find(const struct image *image, enum image_kind kind,
                const char *name, struct image_item *out_item);
rnl_parameter image_parameter(const struct image *image,
                              const struct image_item *item, size_t index);

// --- Making it ---------------------------------------------------------------

struct image_maker {
    struct text entries, parameters, text;
    uint32_t entry_count, parameter_count;
    bool waits;   // its kernels begin by waiting for what they come after
    bool failed;  // memory was short
};

// An entry called `name`; NULL: as the symbol reads without its mangling.
void image_add(struct image_maker *maker, enum image_kind kind,
               const char *name, const char *symbol);

// The last entry's parameters are known: there are none yet.
void image_add_typed(struct image_maker *maker);

// Adds a parameter to the last entry, which is typed. One whose size cannot be
// makes the entry untyped again.
void image_add_parameter(struct image_maker *maker, rnl_value_kind kind,
                         uint64_t size, uint64_t alignment);

// Another name for the symbol: a kernel that is there, else a variable.
void image_add_alias(struct image_maker *maker, const char *name,
                     const char *symbol);

// The finished bytes, allocated, around a copy of the vendor's; false when
// memory is short. Empties the maker in any case.
bool image_finish(struct image_maker *maker, const void *vendor, size_t size,
                  void **out_data, size_t *out_size);

// Puts the right checksum into bytes that were changed; for tests.
void image_seal(void *data, size_t size);

// Frees what was added, instead.
void image_abandon(struct image_maker *maker);

// Writes the name that stands in the source: "scale" for "_Z5scalePfi",
// "a::scale" for "_ZN1a5scaleEPf". False where that takes more than names: a
// template's instance.
bool image_plain_name(const char *symbol, char *name, size_t size);

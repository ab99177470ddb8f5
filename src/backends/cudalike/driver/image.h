// The binaries of modules: a vendor's image with a table in front.
//
// The table has facts that a vendor's image does not contain or that only a
// driver could tell. These are the names of kernels and variables as asked for,
// and the kinds and sizes of parameters. A binary stored by Runnel has a table;
// for a foreign image the library makes a table if the form allows. All that is
// read was checked before, because a binary may come from anywhere.
#pragma once

#include "base/text.h"

#include <runnel/module.h>

// --- A vendor's image --------------------------------------------------------

enum image_form {
    IMAGE_ELF,
    IMAGE_FATBIN,
    IMAGE_ASSEMBLY,  // ends in a zero
};

// The first bytes of a vendor's images, and the machine in their ELF header.
struct image_vendor {
    uint16_t machine;
    uint32_t fatbin_magic;
    const char *assembly;  // the directive that comes first; NULL: no text
};

// The reason why these bytes are no image, or NULL. An assembly may lack its
// zero.
const char *image_vendor_fault(const struct image_vendor *vendor,
                               const void *data, size_t size,
                               enum image_form *out_form);

// --- Stored binaries ---------------------------------------------------------

enum image_kind {
    IMAGE_KERNEL = 1,
    IMAGE_VARIABLE = 2,
};

struct image_header;
struct image_entry;
struct image_parameter;

// Points into the bytes that the caller gave.
struct image {
    const struct image_header *header;
    const struct image_entry *entries;
    const struct image_parameter *parameters;
    const char *text;
    const void *vendor;
    size_t vendor_size;
};

// A kernel or a variable.
struct image_item {
    enum image_kind kind;
    const char *name;    // as in the source, or as asked for; "" if another
                         // item names the symbol
    const char *symbol;  // as in the vendor's image
    bool typed;          // the list of parameters is known
    uint32_t first, parameter_count;
};

// True if the bytes claim to be a binary stored by Runnel.
bool image_is_stored(const void *data, size_t size);

// Opens a stored binary, aligned to 8 bytes; or returns a description of the
// fault.
const char *image_open(const void *data, size_t size, struct image *out_image);

// True if the kernels begin by waiting for the work before.
bool image_waits(const struct image *image);

// False past the end.
bool image_item(const struct image *image, size_t index,
                struct image_item *out_item);
bool image_find(const struct image *image, enum image_kind kind,
                const char *name, struct image_item *out_item);
rnl_parameter image_parameter(const struct image *image,
                              const struct image_item *item, size_t index);

// --- Making a binary ---------------------------------------------------------

struct image_maker {
    struct text entries, parameters, text;
    uint32_t entry_count, parameter_count;
    bool waits;   // the kernels begin by waiting for the work before
    bool failed;  // memory was short
};

// Adds an entry called `name`; NULL: the symbol without its mangling.
void image_add(struct image_maker *maker, enum image_kind kind,
               const char *name, const char *symbol);

// Marks the last entry's parameters as known, with none so far.
void image_add_typed(struct image_maker *maker);

// Adds a parameter to the last entry, which is typed. A parameter of an
// impossible size makes the entry untyped again.
void image_add_parameter(struct image_maker *maker, rnl_value_kind kind,
                         uint64_t size, uint64_t alignment);

// Adds another name for the symbol: of a kernel if the symbol is one, otherwise
// of a variable.
void image_add_alias(struct image_maker *maker, const char *name,
                     const char *symbol);

// The finished bytes, allocated, around a copy of the vendor's image; false if
// memory is short. Empties the maker in any case.
bool image_finish(struct image_maker *maker, const void *vendor, size_t size,
                  void **out_data, size_t *out_size);

// Stores the right checksum in bytes that were changed; for tests.
void image_seal(void *data, size_t size);

// Frees the entries instead of finishing the binary.
void image_abandon(struct image_maker *maker);

// Writes the name as in the source: "scale" for "_Z5scalePfi", "a::scale" for
// "_ZN1a5scaleEPf". False if the symbol has more than names: a template's
// instance.
bool image_plain_name(const char *symbol, char *name, size_t size);

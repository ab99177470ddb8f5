// Objects of a compiler, as runnel-cc reads and completes them.
#include "compiler/object/object.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text file = {0}, stub = {0};
    struct elf_unit unit = {0}, of_stub = {0};
    text_add_bytes(&file, data, size);
    bool read = elf_read_unit(&file, &unit);
    elf_write_stub(&unit.dynamic, &stub);
    elf_read_unit(&stub, &of_stub);
    if (read)
        elf_patch(&file, &unit);
    elf_unit_free(&unit);
    elf_unit_free(&of_stub);
    text_free(&stub);
    text_free(&file);
    return 0;
}

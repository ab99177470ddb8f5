// What a cpu object would take from the process that loads it.
#pragma once

#include <stddef.h>

#define IMPORT_NAME_SIZE 128

// Why an object that object_file_fault passed must not be loaded, or NULL: it
// would run code while it is loaded, or use what kernels do not get. `name` is
// filled with the symbol or file that it is about, "" if there is none.
const char *imports_fault(const void *elf, size_t size,
                          char name[IMPORT_NAME_SIZE]);

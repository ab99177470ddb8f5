// The symbols and libraries that a cpu object imports from the process.
#pragma once

#include <stddef.h>

#define IMPORT_NAME_SIZE 128

// The reason not to load an object that object_file_fault accepted, or NULL:
// loading would run code, or the object uses functions that kernels do not get.
// `name` is set to the symbol or file at fault, "" if none.
const char *imports_fault(const void *elf, size_t size,
                          char name[IMPORT_NAME_SIZE]);

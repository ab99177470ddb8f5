// Programs that belong to the library.
#pragma once

#include <runnel/status.h>

#define FIND_PATH_SIZE 4096

// The path of the program: `configured`, by which an environment variable names
// it, or beside the library, or where it is installed, or in PATH.
// RNL_ERROR_COMPILER_UNAVAILABLE tells every place that was looked at.
rnl_status find_program(const char *name, const char *variable,
                        const char *configured, char path[FIND_PATH_SIZE]);

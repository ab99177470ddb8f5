// The path and identity of the kernel compiler, found without running the
// compiler.
#pragma once

#include "core/backend.h"

#define FIND_PATH_SIZE 4096

// The path of runnel-cc, or RNL_ERROR_COMPILER_UNAVAILABLE with every place
// that was looked at.
rnl_status find_compiler(char path[FIND_PATH_SIZE]);

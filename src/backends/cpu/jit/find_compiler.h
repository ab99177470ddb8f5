// The path and identity of the kernel compiler, found without running the
// compiler.
#pragma once

#include "base/find_program.h"
#include "core/backend.h"

// The path of runnel-cc, or RNL_ERROR_COMPILER_UNAVAILABLE with every place
// that was looked at.
rnl_status find_compiler(char path[FIND_PATH_SIZE]);

// The generated files, relative to the temporary folder.
#pragma once

#define CC_PRELUDE_FILE "rnl-prelude.h"
#define CC_DEFINES_FILE "rnl-defines.h"
#define CC_TABLE_FILE "rnl_table"
#define CC_EXPRESSION_FILE "name-expression"
#define CC_HEADER_FOLDER "rnl-headers"
#define CC_STUB_FOLDER "rnl-stubs"
#define CC_PARTS_FOLDER "rnl-parts"  // headers before those of -I

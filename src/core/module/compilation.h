// The input and the result of a compilation.
#pragma once

#include <runnel/module.h>

// Source to compile, checked by the core.
struct source {
    const char *text;
    const rnl_module_options *options;  // never NULL, full size
    rnl_dump dump;  // what options->dump asks for; of no kind: nothing
};

// A text for people, made on the way (dump.h).
struct dumped {
    struct dumped *next;
    rnl_dump_kind kind;
    char name[24];
    size_t size;
    char text[];  // ends in a zero, which is not counted
};

// The result of a compilation. Owned by the caller, also if the hook fails.
struct compiled_binary {
    void *data;
    size_t size;
    char *log;  // NULL when the compiler said nothing
    struct dumped *dumped;  // those that source.dump asks for, in order
};

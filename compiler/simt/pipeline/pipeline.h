// Room pipeline: the way of a module through the SIMT compiler.
#pragma once

#include "simt/codegen/codegen.h"
#include "simt/transform/transform.h"

// --- parallel_codegen.c ------------------------------------------------------

// The variants of a module, divided among processes. Each process works on
// partition `mine` (the first process on 0) and writes an object of its own.
enum { PARTITIONS_MOST = 4 };
struct partitions {
    unsigned count, mine;
    int ends[PARTITIONS_MOST];  // pipes: of the children, or a child's own [0]
};
void partitions_start(struct partitions *partitions, LLVMModuleRef module,
                      unsigned most);
char *partitions_path(const struct partitions *partitions, const char *object);
// Ends a child and tells its parent whether the object was written.
_Noreturn void partitions_end(const struct partitions *partitions, bool made);
// Waits for the children: true if all succeeded.
bool partitions_wait(const struct partitions *partitions);

// Texts that a compilation shows of its work: checked, collected, delivered.
#pragma once

#include "core/backend.h"

// Reads what is asked for; a kind that was left out becomes the default.
rnl_status dump_check(const rnl_dump *given, rnl_dump *out_dump);

// Whether texts of the kind are asked for.
static inline bool dump_wants(const struct source *source, rnl_dump_kind kind)
{
    return source->dump.kinds & (uint32_t)kind;
}

// Adds a copy of `size` bytes behind the texts that there are.
rnl_status dump_add(struct compiled_binary *binary, rnl_dump_kind kind,
                    const char *name, const void *text, size_t size);

// Records that a kind cannot be had; `why` is a sentence's end.
rnl_status dump_refuse(const char *what, const char *why);

// Writes the texts wherever the source's dump wants them.
rnl_status dump_deliver(const struct source *source,
                        const struct dumped *first);

// Frees them.
void dump_finish(struct compiled_binary *binary);

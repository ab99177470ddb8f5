// Memory of the host that other processes of the user can open.
#pragma once

#include "core/object/pool_state.h"

// `memory.cookie` is not 0. Both end by interprocess_memory_end. A key has
// SHARE_KEY_SIZE bytes; a key to open is untrusted: any bytes, or of a dead
// process.
rnl_status interprocess_memory_make(size_t size, unsigned char *out_key,
                                    struct memory *out_memory);
rnl_status interprocess_memory_open(const unsigned char *key, size_t size,
                                    struct memory *out_memory);
void interprocess_memory_end(struct memory memory, size_t size);

// Contexts of the backend.
#pragma once

#include "backends/cudalike/driver/gpu_context.h"

rnl_status gpu_context_init(struct context *context,
                            const struct driver *driver);
void gpu_context_finish(struct context *context);
rnl_status gpu_context_memory(struct context *context, size_t *out_free,
                              size_t *out_total);
rnl_status gpu_peer_access(struct context *context, struct context *peer,
                           enum peer_call call);
void gpu_peers_forget(const struct gpu_context *gpu);  // `gpu` is ending

rnl_status gpu_native(struct object *object, void **out_native,
                      struct native_facts *out_facts);

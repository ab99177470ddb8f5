// The library as a whole, which is opened once and never closed.
#pragma once

#include "core/backend.h"

#define DEVICES_MAX 64

// Devices in order of preference after RUNNEL_DEVICES; valid after
// library_open.
struct device *library_device(size_t index);
size_t library_device_count(void);

// The same as rnl_device_get, as part of another call.
rnl_status device_get(const char *api, size_t index, rnl_device *out_device);

// The backend of an api word, NULL if unknown; and by number.
const struct backend *library_backend(const char *api);
const struct backend *library_backend_at(size_t index);

// Forgets everything and opens again with `table`; for tests of the core, with
// no object alive.
rnl_status library_reopen(const struct backend *const *table);

// Opens the library once: environment, fork handler, backends, devices.
rnl_status library_open(void);

// Whole files and descriptors. Errors come back as errno values.
#pragma once

#include <runnel/base.h>

// Reads all of the regular file `fd`, at most `limit` bytes of it (EFBIG
// beyond). 0, or an errno value. Release with mem_release(data, size); an empty
// file gives NULL.
int file_read(int fd, size_t limit, void **out_data, size_t *out_size);

// The same by path.
int file_read_path(const char *path, size_t limit, void **out_data,
                   size_t *out_size);

// Writes all. 0, or an errno value and no signal.
int file_write(int fd, const void *data, size_t size);

// Creates `path`, which must not exist, readable by nobody else.
int file_write_path(const char *path, const void *data, size_t size);

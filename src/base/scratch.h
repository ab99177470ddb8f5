// Private folders for temporary files, which do not outlive their process for
// long: each is locked while its owner lives, and whoever makes the next one
// removes those that nobody holds.
#pragma once

#include <stddef.h>

#define SCRATCH_PATH_SIZE 4096

struct scratch {
    char path[SCRATCH_PATH_SIZE];
    int lock;  // the folder, open; the lock ends with the process
};

// Makes one under TMPDIR, with at least `room` bytes left in the path for names
// of files. 0, or an errno value; `path` then says what could not be made.
int scratch_make(struct scratch *scratch, size_t room);

// Removes it with all that is in it.
void scratch_remove(struct scratch *scratch);

// Private folders for temporary files that hardly outlive their process: the
// owner locks each folder while it lives, and the next process that makes a
// folder removes the unlocked ones.
#pragma once

#include <stddef.h>

#define SCRATCH_PATH_SIZE 4096

struct scratch {
    char path[SCRATCH_PATH_SIZE];
    int lock;  // the folder, open; the lock ends with the process
};

// Makes a folder under TMPDIR, leaving at least `room` bytes of the path for
// names of files. 0, or an errno value; then `path` says what could not be
// made.
int scratch_make(struct scratch *scratch, size_t room);

// Removes the folder with its files.
void scratch_remove(struct scratch *scratch);

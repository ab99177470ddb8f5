// For targets that make objects.
#pragma once

// Waits until the library holds no memory: a moment after the last work,
// when every object was released. Requires that it comes.
void fuzz_wait_for_nothing(void);

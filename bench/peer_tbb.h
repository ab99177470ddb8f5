// The oneTBB peer: one flow graph, built before anything is timed.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#include <stddef.h>

// `levels` times: `wide` nodes that add 1 to a cell each, `stride` ints apart,
// then a node that joins them. NULL, or why the peer is absent.
const char *tbb_flow_open(int *cells, size_t wide, size_t stride,
                          size_t levels);
void tbb_flow_run(void);  // and waits
void tbb_flow_close(void);

#ifdef __cplusplus
}
#endif

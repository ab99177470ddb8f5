// The disk cache of compiled kernels.
//
// One private folder of the user's, RUNNEL_CACHE_DIR or ~/.cache/runnel, that
// all processes and all backends share. Everything that compiles uses it by
// itself; these calls are for looking at the cache or making room. An entry is
// loaded only if it is whole and was made of exactly the same source, options
// and compiler, and the least recently used entries go first when all are
// larger than RUNNEL_CACHE_SIZE (bytes, or with K, M or G behind; 1G).
//
// Lifetime: strings of an entry live during the visit.
// Threads:  safe; other processes may use the cache meanwhile.
#ifndef RUNNEL_CACHE_H
#define RUNNEL_CACHE_H

#include <runnel/status.h>

// Where the cache is, or why there is none.
typedef struct rnl_cache_info {
    size_t struct_size;
    uint64_t size_limit;   // bytes
    char path[4096];       // "" when no place is known
    char reason[256];      // why the cache is not used, or ""
} rnl_cache_info;

// A compiled binary that is kept.
typedef struct rnl_cache_entry {
    size_t struct_size;
    const char *name;      // of its file
    const char *api;       // whose binary it is: "cpu", "cuda"; "" if damaged
    const char *source;    // the name of the source file: "kernel.cu"
    uint64_t size;         // bytes of the file
    uint64_t used_s;       // last use, in seconds since 1970, to the minute
    bool damaged;          // cannot be loaded; removed at the next use
} rnl_cache_entry;

// Called for an entry; another status than RNL_OK ends the visit. May not call
// Runnel.
typedef rnl_status (*rnl_cache_visit_fn)(const rnl_cache_entry *entry,
                                         void *user_data);

RNL_BEGIN_DECLS

// Fills `*out_info`, whose struct_size the caller has set. Makes a
// missing folder.
RNL_API rnl_status rnl_cache_get_info(rnl_cache_info *out_info);

// Reads and verifies every entry and calls `visit` for each, in no order.
// Returns what `visit` returned, if that was not RNL_OK. A folder that cannot
// be used has no entries; RUNNEL_CACHE_DISABLE hides none. Blocks while files
// are read.
RNL_API rnl_status rnl_cache_visit(rnl_cache_visit_fn visit, void *user_data);

// Removes damaged entries, leftovers of interrupted writers, and then the least
// recently used entries until at most `most_size` bytes are left; 0 empties the
// cache. The results, which may be NULL, count what was removed. Blocks while
// files are read.
RNL_API rnl_status rnl_cache_prune(uint64_t most_size, uint64_t *out_count,
                                   uint64_t *out_size);

RNL_END_DECLS

#endif

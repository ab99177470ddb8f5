// The in-memory cache behind rnl_function_compile.
//
// Each context has a cache that maps a source to its loaded module and, within
// the module, names to functions. Functions of the same source and options
// share the module.
//
// References: a module keeps its context, and the cache of the context keeps
// modules. To avoid a cycle, the cache gives up the context reference of each
// module that it takes in. This is sound because only functions reach such a
// module, and each function keeps the context itself. The cache takes the
// reference again before it drops a module. A function without references is
// parked under its name, without a reference to the context, and goes to the
// next caller with a new handle.
#pragma once

#include "core/module/source.h"

// The cached objects of a source and a name.
struct function_cache_hit {
    rnl_function function;  // with one reference more for the caller, or NULL
    struct module *module;  // when there is no function: kept, or NULL
};

void function_cache_find(struct context *context, const struct source_key *key,
                   const char *name, struct function_cache_hit *out_hit);

// The function of a source without options, as function_cache_find gives it, if
// the text has the address of the last lookup; otherwise NULL.
rnl_function function_cache_find_plain(struct context *context,
                                       const char *text, const char *name);

// Takes in a new module. If another thread was faster, replaces `*module` by
// the cached module. Either way `*module` is referenced for the caller. If
// memory is short, nothing is cached.
void function_cache_add(struct context *context, const struct source_key *key,
                  struct module **module);

// Remembers the function that the name stands for.
void function_cache_name(struct context *context, const struct source_key *key,
                   const char *name, struct function *function);

// Keeps a function without references; false if the function is not in the
// cache.
bool function_cache_park(struct function *function);

// Frees what rnl_function_compile cached; called once, by the context's end.
void function_cache_finish(struct context *context);

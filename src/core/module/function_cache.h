// The in-memory cache behind rnl_function_compile.
//
// One per context. It maps a source to its loaded module and, in that, names to
// functions. Functions of the same source and options share the module.
//
// References: a module keeps its context, and here the context keeps modules.
// So that this is no circle, the cache gives back the context reference of a
// module that it takes in. That is sound because nobody else reaches such a
// module but functions, each of which keeps the context itself. The reference
// is taken again before the cache drops a module. A function whose last
// reference is gone is parked with its name, without its reference to the
// context, and is what the next caller gets, under another handle.
#pragma once

#include "core/module/source.h"

// What the cache has for a source and a name.
struct function_cache_hit {
    rnl_function function;  // with one reference more for the caller, or NULL
    struct module *module;  // when there is no function: kept, or NULL
};

void function_cache_find(struct context *context, const struct source_key *key,
                   const char *name, struct function_cache_hit *out_hit);

// The function of a source without options, as function_cache_find gives it,
// where the text lies where it was when it was found last; otherwise NULL.
rnl_function function_cache_find_plain(struct context *context,
                                       const char *text, const char *name);

// Takes in a module just built, unless another thread was faster: then the
// caller's is dropped for the one that is there. Either way `*module` is kept
// for the caller. Memory being short, nothing is cached.
void function_cache_add(struct context *context, const struct source_key *key,
                  struct module **module);

// Remembers the function that the name stands for.
void function_cache_name(struct context *context, const struct source_key *key,
                   const char *name, struct function *function);

// Keeps a function that nobody refers to any more; false when it is not one of
// the cache's.
bool function_cache_park(struct function *function);

// Frees what rnl_function_compile cached; called once, by the context's end.
void function_cache_finish(struct context *context);

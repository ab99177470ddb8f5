// Dead events that a context keeps for its next ones, in the parts of its pool
// (memory_pool.h): making and releasing one takes the part's lock, and no
// count that all threads share.
#pragma once

#include "core/core.h"

// An event that is not published yet and has all but options and what its
// backend adds in event_init. NULL after recording why.
struct event *event_pool_take(struct context *context, const char *label);

// Keeps an event that has no reference any more and is finished. May end the
// context.
void event_pool_give(struct event *event);

// Gives up all that is kept; no event of the context is left.
void event_pool_finish(struct context *context);

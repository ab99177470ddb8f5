#pragma once

#include "job.h"

// A diagnostic: lines that announce it, its head "file:line:…", and lines that
// show its place in the source. Other text forms blocks without a head.
struct block {
    const char *start, *end;
    const char *head;
    size_t head_size;
};

// Returns the first block of a text.
struct block block_next(const char *at);

// Whether the head of a block contains a phrase.
bool block_says(const struct block *block, const char *words);

// Writes a sentence that tells the user how to mend an error. False if the
// compiler's own sentence is kept.
bool block_reword(const struct block *block, struct text *sentence);

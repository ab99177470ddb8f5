#pragma once

#include "job.h"

// A diagnostic: lines that announce it, its head "file:line:…", and lines that
// show its place in the source. What is none has no head.
struct block {
    const char *start, *end;
    const char *head;
    size_t head_size;
};

// The first of a text.
struct block block_next(const char *at);

// Whether its head has these words.
bool block_says(const struct block *block, const char *words);

// Says an error of the user's own text in words that tell what to do. False
// where the compiler's are clear.
bool block_reword(const struct block *block, struct text *sentence);

// Reads a compiler's messages, diagnostic by diagnostic.

#include "source/source.h"

#include <ctype.h>
#include <string.h>

bool line_starts_block(const char *line, size_t size)
{
    const char *colon = memchr(line, ':', size);
    return colon && colon > line && !isspace((unsigned char)line[0]) &&
           isdigit((unsigned char)colon[1]);
}

// "In file included from x:1:" announces the diagnostic that follows.
static bool announces(const char *line, size_t size)
{
    return line_begins(line, size, "In file included from ");
}

struct diagnostic diagnostic_next(const char *at)
{
    struct diagnostic block = {.start = at};
    bool open = false;  // an announcement waits for its head
    for (; *at; at += line_size(at)) {
        size_t size = line_size(at);
        bool is_open = announces(at, size);
        bool is_head = !is_open && line_starts_block(at, size);
        if ((is_head || is_open) && !open && at > block.start)
            break;
        open |= is_open;
        if (is_head) {
            open = false;
            block.head = at;
            block.head_size = size;
        }
    }
    block.end = at;
    return block;
}

bool diagnostic_says(const struct diagnostic *block, const char *words)
{
    return block->head &&
           memmem(block->head, block->head_size, words, strlen(words));
}

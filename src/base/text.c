#include "base/text.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(struct text *text, size_t more)
{
    size_t need = text->length + more + 1;
    if (need <= text->capacity)
        return true;
    size_t capacity = need < 256 ? 256 : need + need / 2;
    char *data = mem_grow(text->data, text->capacity, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void text_add_bytes(struct text *text, const void *bytes, size_t size)
{
    if (!reserve(text, size))
        return;
    if (size > 0)  // there may be no bytes at all then
        memcpy(text->data + text->length, bytes, size);
    text->length += size;
    text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format,
                  again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

const char *text_get(const struct text *text)
{
    return text->data ? text->data : "";
}

int text_first_error(const char *log, const char **out_line)
{
    const char *found = strstr(log, "error:");
    const char *line = found ? found : log + strspn(log, "\n");
    while (line > log && line[-1] != '\n')
        line--;
    *out_line = line;
    size_t length = strcspn(line, "\n");
    return length > 512 ? 512 : (int)length;
}

void text_finish(struct text *text)
{
    mem_release(text->data, text->capacity);
    *text = (struct text){0};
}

void text_end_cut(char *store, size_t size)
{
    size_t cut = size - 4;
    while (cut > 0 && ((unsigned char)store[cut] & 0xC0) == 0x80)
        cut--;
    memcpy(store + cut, "...", 4);
}

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *grow(void *data, size_t size)
{
    void *grown = realloc(data, size);
    if (!grown) {
        fputs("runnel-cc: out of memory\n", stderr);
        exit(CC_CRASHED);
    }
    return grown;
}

void text_add_bytes(struct text *text, const void *bytes, size_t size)
{
    if (text->size + size + 1 > text->capacity) {
        text->capacity = 2 * (text->size + size) + 64;
        text->data = grow(text->data, text->capacity);
    }
    if (size)
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = 0;
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

static void add_formatted(struct text *text, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, list);
    if (size > 0) {
        char *line = grow(NULL, (size_t)size + 1);
        vsnprintf(line, (size_t)size + 1, format, again);
        text_add_bytes(text, line, (size_t)size);
        free(line);
    }
    va_end(again);
}

void text_format(struct text *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_formatted(text, format, list);
    va_end(list);
}

void text_add_literal(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\')
            text_format(text, "\\%c", c);
        else if (c < 32)
            text_format(text, "\\%03o", c);
        else
            text_add_bytes(text, string, 1);
    }
    text_add(text, "\"");
}

void text_cut(struct text *text, size_t size)
{
    if (size < text->size)
        text->data[text->size = size] = 0;
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

void list_add(struct list *list, const char *string)
{
    list->items =
        grow(list->items, (list->count + 2) * sizeof *list->items);
    char *copy = grow(NULL, strlen(string) + 1);
    strcpy(copy, string);
    list->items[list->count++] = copy;
    list->items[list->count] = NULL;
}

void list_format(struct list *list, const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    add_formatted(&text, format, arguments);
    va_end(arguments);
    list_add(list, text.data ? text.data : "");
    text_free(&text);
}

void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct list){0};
}

bool text_read_file(struct text *text, const char *path)
{
    int file = strcmp(path, "-") == 0 ? STDIN_FILENO
                                      : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    text_add(text, "");
    char block[65536];
    ssize_t got;
    while ((got = read(file, block, sizeof block)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        if (got > 0)
            text_add_bytes(text, block, (size_t)got);
    }
    int error = errno;
    if (file != STDIN_FILENO)
        close(file);
    errno = error;
    return got == 0;
}

bool text_write_file(const char *path, const void *data, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return false;
    const char *next = data;
    while (size > 0) {
        ssize_t put = write(file, next, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            break;
        next += put;
        size -= (size_t)put;
    }
    int error = errno;
    bool closed = close(file) == 0;
    if (size > 0)
        errno = error;
    return size == 0 && closed;
}

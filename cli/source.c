// Kernel files and the compiler's options.
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static int out_of_memory(void)
{
    complain("there is no memory left");
    return EXIT_FAILED;
}

// --- Words ------------------------------------------------------------------

int words_add(struct words *words, const char *prefix, const char *text)
{
    // The compiler would take the next word for it.
    if (!text[0] && (strcmp(prefix, "-I") == 0 || strcmp(prefix, "-D") == 0))
        return complain_usage("nothing is given after %s", prefix);
    size_t size = strlen(prefix) + strlen(text) + 1;
    char **items =
        realloc(words->items, (words->count + 1) * sizeof *words->items);
    if (items)
        words->items = items;
    char *word = malloc(size);
    if (!items || !word) {
        free(word);
        return out_of_memory();
    }
    snprintf(word, size, "%s%s", prefix, text);
    words->items[words->count++] = word;
    return EXIT_OK;
}

void words_free(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct words){0};
}

int words_add_own_folder(struct words *words, const char *file)
{
    const char *slash = strrchr(file, '/');
    if (!slash)
        return strcmp(file, "-") == 0 ? EXIT_OK : words_add(words, "-I", ".");
    char *folder = strndup(file, (size_t)(slash - file) + 1);
    if (!folder)
        return out_of_memory();
    int code = words_add(words, "-I", folder);
    free(folder);
    return code;
}

// --- Files ------------------------------------------------------------------

// All of `file`, zero-terminated; NULL with errno set.
static char *read_text(FILE *file, size_t *out_size)
{
    size_t size = 0, room = 4096;
    char *text = malloc(room);
    while (text) {
        size += fread(text + size, 1, room - size - 1, file);
        if (size < room - 1)
            break;
        char *larger = realloc(text, room *= 2);
        if (!larger)
            free(text);
        text = larger;
    }
    if (text && ferror(file)) {
        free(text);
        return NULL;
    }
    if (text)
        text[size] = 0;
    *out_size = size;
    return text;
}

int source_read(const char *path, char **out_text, size_t *out_size)
{
    bool standard_input = strcmp(path, "-") == 0;
    FILE *file = standard_input ? stdin : fopen(path, "rb");
    *out_text = file ? read_text(file, out_size) : NULL;
    int error = errno;
    if (file && !standard_input)
        fclose(file);
    return *out_text ? EXIT_OK
                     : complain("'%s' cannot be read: %s", path,
                                strerror(error));
}

const char *source_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

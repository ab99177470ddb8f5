#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fuzz_require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_require(text, "memory");
    for (size_t i = 0; i < size; i++)
        text[i] = data[i] ? (char)data[i] : ' ';
    text[size] = 0;
    return text;
}

char *fuzz_cut(char *text)
{
    static const char line[] = "===\n";
    char *cut = text;
    while ((cut = strstr(cut, line)) && cut > text && cut[-1] != '\n')
        cut++;
    if (!cut)
        return text + strlen(text);
    *cut = 0;
    return cut + strlen(line);
}

size_t fuzz_lines(char *text, char **lines, size_t most)
{
    size_t count = 0;
    while (*text && count < most) {
        char *end = strchrnul(text, '\n');
        lines[count++] = text;
        text = end + (*end != 0);
        *end = 0;
    }
    return count;
}

// --- The folder -------------------------------------------------------------

static char folder[4096];

static void remove_folder(void)
{
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files));)
        unlinkat(dirfd(files), file->d_name, 0);
    if (files)
        closedir(files);
    rmdir(folder);
}

const char *fuzz_folder(void)
{
    const char *base = getenv("TMPDIR");
    if (folder[0])
        return folder;
    snprintf(folder, sizeof folder, "%s/runnel-fuzz-XXXXXX",
             base && *base ? base : "/tmp");
    fuzz_require(mkdtemp(folder), "a temporary folder");
    atexit(remove_folder);
    return folder;
}

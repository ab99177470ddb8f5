// Calls a fuzz target with each file once, where libFuzzer is not linked.
//
// usage: fuzz-NAME FILE|FOLDER...
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static unsigned ran;

static bool run_file(const char *path)
{
    struct stat facts;
    FILE *file = fopen(path, "rb");
    if (!file || fstat(fileno(file), &facts) != 0) {
        perror(path);
        return false;
    }
    size_t size = (size_t)facts.st_size;
    uint8_t *data = malloc(size + 1);
    bool read = data && fread(data, 1, size, file) == size;
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    if (read)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    ran++;
    return read;
}

static bool run_folder(const char *path)
{
    struct dirent **files;
    bool all = true;
    int count = scandir(path, &files, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, files[i]->d_name);
        if (files[i]->d_name[0] != '.')
            all &= run_file(name);
        free(files[i]);
    }
    if (count >= 0)
        free(files);
    return all && count >= 0;
}

int main(int argc, char **argv)
{
    bool all = true;
    for (int i = 1; i < argc; i++) {
        struct stat facts;
        bool folder = stat(argv[i], &facts) == 0 && S_ISDIR(facts.st_mode);
        all &= folder ? run_folder(argv[i]) : run_file(argv[i]);
    }
    printf("%u inputs\n", ran);
    return !all || ran == 0;
}

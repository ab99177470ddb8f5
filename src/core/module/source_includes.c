// The files that a source can read. The preprocessor decides which of them a
// compiler reads, so every name behind an include counts, in each search
// folder: a superset of the files read.
#include "base/file.h"
#include "base/text.h"
#include "core/backend.h"
#include "core/module/source.h"

#include <errno.h>
#include <string.h>

#define PATHS_MOST 16384
#define BYTES_MOST ((size_t)64 << 20)
#define NAME_MOST 1000
#define PATH_SIZE 2048

// --- Options ---------------------------------------------------------------

// Behind the first of the words that the option begins with, or NULL.
static const char *behind_name(const char *option, const char *const *words,
                               size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(words[i]);
        if (strncmp(option, words[i], size) == 0)
            return option + size;
    }
    return NULL;
}

// The text behind an option that names a search folder, which only such options
// have; NULL for other options.
static const char *behind_folder(const char *option)
{
    static const char *const words[] = {"-I", "--include-path"};
    return behind_name(option, words, sizeof words / sizeof words[0]);
}

// The same of an option with the name of a file to include.
static const char *behind_file(const char *option)
{
    static const char *const words[] = {"-include", "--pre-include",
                                        "-pre-include"};
    const char *rest = behind_name(option, words,
                                   sizeof words / sizeof words[0]);
    return rest && (*rest == 0 || *rest == '=') ? rest : NULL;
}

// --- Words -----------------------------------------------------------------

// The end of `word`, possibly split by backslash-newlines, at the next
// position; NULL if absent.
static const char *find_word(const char *text, const char *word,
                             const char **out_start)
{
    for (; (text = strchr(text, word[0])) != NULL; text++) {
        const char *at = text, *left = word;
        while (*left && *at == *left) {
            left++;
            at++;
            while (*left && *at == '\\')
                at += 1 + strspn(at + 1, " \t\r\n");
        }
        if (!*left) {
            *out_start = text;
            return at;
        }
    }
    return NULL;
}

static const char *const asking[] = {"include", "import", "embed"};
#define ASKING (sizeof asking / sizeof asking[0])

static bool asks_for_files(const char *text)
{
    const char *start;
    for (size_t i = 0; i < ASKING; i++)
        if (find_word(text, asking[i], &start))
            return true;
    return false;
}

// Behind spaces, the ends of lines that go on, and comments.
static const char *skip(const char *at)
{
    for (;;) {
        const char *end;
        if (*at == ' ' || *at == '\t')
            at++;
        else if (*at == '\\')
            at += 1 + strspn(at + 1, " \t\r\n");
        else if (at[0] == '/' && at[1] == '*' && (end = strstr(at, "*/")))
            at = end + 2;
        else
            return at;
    }
}

// Whether a word stands in the place of a directive or of __has_include: then a
// macro may name a file. Errs on the safe side.
static bool is_directive(const char *text, const char *word)
{
    if (word - text >= 4 && strncmp(word - 4, "has_", 4) == 0)
        return true;
    while (word > text && strchr(" \t\r\n\\", word[-1]))
        word--;
    bool comment = word - text >= 2 && strncmp(word - 2, "*/", 2) == 0;
    // A digraph ends in a colon, a trigraph in an equals sign.
    return comment || (word > text && strchr("#:=", word[-1]));
}

enum asked {
    ASKED_NOTHING,
    ASKED_NAME,
    ASKED_UNKNOWN,  // for what the text alone does not tell
};

// Reads the file name behind a directive or query that ends at `at`.
static enum asked read_word(const char *text, const char *word, const char *at,
                            const char **out_name, size_t *out_size)
{
    at = skip(at);
    if (strncmp(at, "_next", 5) == 0)
        at = skip(at + 5);
    if (*at == '(')
        at = skip(at + 1);
    bool quoted = *at == '<' || *at == '"';
    const char *name = quoted ? at + 1 : at;
    size_t size = quoted ? strcspn(name, *at == '<' ? ">\r\n" : "\"\r\n") : 0;
    if (!quoted || (name[size] != '>' && name[size] != '"'))
        return is_directive(text, word) ? ASKED_UNKNOWN : ASKED_NOTHING;
    if (size > NAME_MOST)
        return ASKED_UNKNOWN;
    *out_name = name;
    *out_size = size;
    return size > 0 ? ASKED_NAME : ASKED_NOTHING;
}

// Whether a part of the name leads out of a folder.
static bool goes_up(const char *name, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++)
        if ((i == 0 || name[i - 1] == '/') && name[i] == '.' &&
            name[i + 1] == '.' && (i + 2 == size || name[i + 2] == '/'))
            return true;
    return false;
}

// True when a path from the root is asked for, or from above where the text is,
// or what is not known.
static bool asks_for_path(const char *text)
{
    for (size_t i = 0; i < ASKING; i++) {
        const char *at = text, *word, *name;
        size_t size;
        while ((at = find_word(at, asking[i], &word)) != NULL) {
            enum asked asked = read_word(text, word, at, &name, &size);
            if (asked == ASKED_UNKNOWN ||
                (asked == ASKED_NAME &&
                 (name[0] == '/' || goes_up(name, size))))
                return true;
        }
    }
    return false;
}

bool source_is_closed(const struct source *source)
{
    const rnl_module_options *options = source->options;
    bool folders = false;
    for (size_t i = 0; i < options->option_count; i++) {
        bool folder = behind_folder(options->options[i]) != NULL;
        folders |= folder;
        if (!folder && behind_file(options->options[i]))
            return false;
    }
    bool (*is_open)(const char *) = folders ? asks_for_files : asks_for_path;
    for (size_t i = 0; i < options->header_count; i++)
        if (is_open(options->headers[i].source))
            return false;
    return !is_open(source->text);
}

// --- A search --------------------------------------------------------------

struct include_search {
    const rnl_module_options *options;
    struct text paths;      // each with its end, in the order of discovery
    uint64_t *known;        // hashes of those, in an open table
    uint32_t path_count, room;
    const char *folder;     // of the text that is read, without an end; NULL:
    size_t folder_size;     // it was given
    size_t byte_count;
    struct hash128 hash;    // of all so far
    bool vain;              // what is read is not known
};

static void mix(struct include_search *search, const void *data, size_t size)
{
    struct hash128 pair[2] = {search->hash, hash_128(data, size)};
    search->hash = hash_128(pair, sizeof pair);
}

static bool insert(uint64_t *table, uint32_t room, uint64_t hash)
{
    uint32_t at = (uint32_t)hash % room;
    while (table[at] && table[at] != hash)
        at = (at + 1) % room;
    bool is_new = !table[at];
    table[at] = hash;
    return is_new;
}

static bool make_room(struct include_search *search)
{
    if (2 * search->path_count < search->room)
        return true;
    uint32_t room = search->room ? 4 * search->room : 64;
    uint64_t *table = mem_allocate(room * sizeof *table);
    if (!table)
        return false;
    for (uint32_t i = 0; i < search->room; i++)
        if (search->known[i])
            insert(table, room, search->known[i]);
    mem_release(search->known, search->room * sizeof *table);
    search->known = table;
    search->room = room;
    return true;
}

// `folder` of `folder_size` bytes, which may be none, and a name in it.
static void add_path(struct include_search *search, const char *folder,
                     size_t folder_size, const char *name, size_t size)
{
    struct text *paths = &search->paths;
    size_t start = paths->length;
    if (folder_size > 0)
        text_add_bytes(paths, folder, folder_size);
    if (folder_size > 0 && folder[folder_size - 1] != '/')
        text_add_bytes(paths, "/", 1);
    text_add_bytes(paths, name, size);
    text_add_bytes(paths, "", 1);
    if (paths->failed || search->path_count >= PATHS_MOST ||
        !make_room(search)) {
        search->vain = true;
        return;
    }
    uint64_t hash = hash_64(paths->data + start, paths->length - start);
    if (insert(search->known, search->room, hash ? hash : 1))
        search->path_count++;
    else
        paths->length = start;
}

// The value of option `i`, of which `rest` follows the name.
static const char *value_of(const rnl_module_options *options, size_t i,
                            const char *rest)
{
    if (*rest)
        return rest + (*rest == '=');
    return i + 1 < options->option_count ? options->options[i + 1] : "";
}

// A name behind an include.
static void add_name(struct include_search *search, const char *name,
                     size_t size)
{
    const rnl_module_options *options = search->options;
    // The name lies in a folder of the compiler's.
    if (!search->folder && goes_up(name, size))
        search->vain = true;
    if (name[0] == '/') {
        add_path(search, NULL, 0, name, size);
        return;
    }
    add_path(search, search->folder, search->folder_size, name, size);
    for (size_t i = 0; i < options->option_count; i++) {
        const char *rest = behind_folder(options->options[i]);
        const char *value = rest ? value_of(options, i, rest) : "";
        if (*value)
            add_path(search, value, strlen(value), name, size);
    }
}

// --- Texts -----------------------------------------------------------------

static void read_text(struct include_search *search, const char *text)
{
    for (size_t i = 0; i < ASKING; i++) {
        const char *at = text, *word, *name;
        size_t size;
        while ((at = find_word(at, asking[i], &word)) != NULL) {
            enum asked asked = read_word(text, word, at, &name, &size);
            if (asked == ASKED_NAME)
                add_name(search, name, size);
            search->vain |= asked == ASKED_UNKNOWN;
        }
    }
}

// --- Files -----------------------------------------------------------------

static bool is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EISDIR ||
           error == EACCES || error == EINVAL || error == ENAMETOOLONG ||
           error == ELOOP;
}

// A copy with an end, since a text is read as one: a compiler goes on behind
// bytes that are 0.
static void read_data(struct include_search *search, const void *data,
                      size_t size)
{
    char *text = mem_allocate(size + 1);
    search->vain |= memchr(data, 0, size) != NULL;
    if (text) {
        memcpy(text, data, size);
        read_text(search, text);
    }
    search->vain |= !text;
    mem_release(text, size + 1);
}

// Notes the file at the path, and reads its includes.
static void read_file(struct include_search *search, const char *path)
{
    void *data = NULL;
    size_t size = 0;
    int error = file_read_path(path, BYTES_MOST, &data, &size);
    mix(search, path, strlen(path));
    mix(search, &error, sizeof error);
    search->vain |= error && !is_absent(error);
    if (error || size == 0)
        return;
    mix(search, data, size);
    search->byte_count += size;
    search->vain |= search->byte_count > BYTES_MOST;
    if (!search->vain)
        read_data(search, data, size);
    mem_release(data, size);
}

static void read_path(struct include_search *search, size_t offset)
{
    // The list moves when it grows.
    char path[PATH_SIZE];
    size_t length = strlen(search->paths.data + offset);
    if (length >= sizeof path) {
        search->vain = true;
        return;
    }
    memcpy(path, search->paths.data + offset, length + 1);
    const char *slash = strrchr(path, '/');
    search->folder = path;
    search->folder_size = slash ? (size_t)(slash - path) + 1 : 0;
    read_file(search, path);
}

static void read_options(struct include_search *search)
{
    const rnl_module_options *options = search->options;
    for (size_t i = 0; i < options->option_count; i++) {
        const char *rest = behind_file(options->options[i]);
        if (!rest)
            continue;
        const char *name = value_of(options, i, rest);
        add_name(search, name, strlen(name));
    }
}

bool source_hash_files(const struct source *source, struct hash128 *out_hash)
{
    struct include_search search = {.options = source->options};
    read_options(&search);
    for (size_t i = 0; i < source->options->header_count; i++)
        read_text(&search, source->options->headers[i].source);
    read_text(&search, source->text);
    for (size_t offset = 0; !search.vain && offset < search.paths.length;
         offset += strlen(search.paths.data + offset) + 1)
        read_path(&search, offset);
    mem_release(search.known, search.room * sizeof *search.known);
    text_finish(&search.paths);
    *out_hash = search.hash;
    return !search.vain;
}

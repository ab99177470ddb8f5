// Filters the compiler's diagnostics: those in generated text are left out, and
// some sentences are replaced by CUDA's terms.
#include "source/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t generated_folder(const char *path)
{
    static const char *const folders[] = {CC_HEADER_FOLDER "/",
                                          CC_STUB_FOLDER "/",
                                          CC_PARTS_FOLDER "/"};
    const char *p = path + (strncmp(path, "./", 2) == 0 ? 2 : 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strncmp(p, folders[i], strlen(folders[i])) == 0)
            return (size_t)(p - path) + strlen(folders[i]);
    return 0;
}

static bool is_generated(const char *line, size_t size)
{
    const size_t folder = generated_folder(line);
    static const char *const files[] = {
        CC_PRELUDE_FILE, "./" CC_PRELUDE_FILE, "../" CC_PRELUDE_FILE,
        "../../" CC_PRELUDE_FILE, CC_TABLE_FILE, CC_RECORDS_FILE,
        "<scratch space>", "<built-in>", "<command-line>"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (line_begins(line + folder, size - folder, files[i]))
            return true;
    return false;
}

// Lines about including or being inside the prelude say nothing to the user.
static bool is_noise(const char *line, size_t size)
{
    static const char *const about[] = {
        "In file included from <command-line>",
        "In file included from <built-in>",
        ("In file included from " CC_TABLE_FILE)};
    for (size_t i = 0; i < sizeof about / sizeof *about; i++)
        if (line_begins(line, size, about[i]))
            return true;
    // "1 warning generated." would count what is left out.
    return isdigit((unsigned char)line[0]) &&
           memmem(line, size, " generated", strlen(" generated"));
}

// Whether a diagnostic is about the lines that driver/job.c adds behind the
// source: the source ends too early, for example without a brace.
static bool is_at_end(const struct diagnostic *block)
{
    return block->head &&
           line_begins(block->head, block->head_size, CC_TABLE_FILE ":");
}

// --- What is not supported -------------------------------------------------

#define UNSUPPORTED "not supported by Runnel on the CPU"

// Names of CUDA that are not there: whole words, and, with a '*', beginnings. A
// small letter before that is followed by the next word's: cudaMalloc, not
// cudart.
static bool is_missing(const char *name)
{
    static const char *const names[] = {
        "cuda", "cub", "thrust", "nvcuda", "wmma", "cuda*", "curand*",
        "curand_*", "texture", "textureReference", "surface",
        "surfaceReference", "tex1D*", "tex2D*", "tex3D*", "texCubemap",
        "texCubemap*", "surf1D*", "surf2D*", "surf3D*", "surfCubemap*",
        "this_cluster", "cluster_group", "__cluster_*", "__cluster*",
        "__pipeline_*", "__setmaxnreg*", "__isLocal", "__isGridConstant",
        "__barrier_sync_count", "__cvta_*"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strcspn(names[i], "*");
        if (strncmp(name, names[i], size) != 0)
            continue;
        unsigned char next = (unsigned char)name[size];
        if (!names[i][size] ? !isalnum(next) && next != '_'
                            : isupper(next) ||
                                  !islower((unsigned char)names[i][size - 1]))
            return true;
    }
    return false;
}

// The missing name that an error quotes first, if the name is in the list.
static const char *find_missing(const struct diagnostic *block, size_t *size)
{
    const char *end = block->head + block->head_size;
    const char *open = memchr(block->head, '\'', block->head_size);
    const char *close =
        open ? memchr(open + 1, '\'', (size_t)(end - open - 1)) : NULL;
    if (!close || !is_missing(open + 1))
        return NULL;
    *size = (size_t)(close - open - 1);
    return open + 1;
}

// The folders of CUDA's C++ libraries, and a file that each holds.
static const struct {
    const char *folder, *file;
} libraries[] = {{"/cuda/", "std/version"}, {"/cub/", "version.cuh"},
                 {"/thrust/", "version.h"}, {"/nv/", "target"}};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

// Whether a name is that of a header of theirs.
static bool is_library(const char *name)
{
    for (size_t i = 0; i < LIBRARIES; i++) {
        const char *folder = libraries[i].folder + 1;
        if (strncmp(name, folder, strlen(folder)) == 0)
            return true;
    }
    return false;
}

// The missing header of an error, if CUDA has the header.
static const char *find_header(const struct diagnostic *block, size_t *size)
{
    if (!diagnostic_says(block, " fatal error: ") ||
        (!diagnostic_says(block, "file not found") &&
         !diagnostic_says(block, "No such file")))
        return NULL;
    const char *name =
        strstr(block->head, " fatal error: ") + strlen(" fatal error: ");
    name += *name == '\'';
    *size = strcspn(name, "':\n");
    return is_library(name) || strncmp(name, "curand", 6) == 0 ? name : NULL;
}

// Whether a path's first bytes name a folder that holds this file.
static bool holds(const char *folder, size_t size, const char *file)
{
    struct text path = {0};
    text_add_bytes(&path, folder, size);
    text_add(&path, file);
    const bool found = access(path.data, F_OK) == 0;
    text_free(&path);
    return found;
}

// The name of a library's header as the source includes it, in
// "/folder/include/cub/cub.cuh:3", or of a header that replaces a missing one.
// User folders may have the same names, but do not hold these files.
static const char *library_name(const char *path)
{
    const char *end = path + strcspn(path, ":\n");
    const size_t built_in = generated_folder(path);
    if (built_in > 0 &&
        !memmem(path, built_in, CC_HEADER_FOLDER, strlen(CC_HEADER_FOLDER)))
        return path + built_in;
    for (size_t i = 0; i < LIBRARIES; i++) {
        const size_t size = strlen(libraries[i].folder);
        const char *at = path;
        while ((at = memmem(at, (size_t)(end - at), libraries[i].folder,
                            size))) {
            at++;
            if (holds(path, (size_t)(at - path) + size - 1, libraries[i].file))
                return at;
        }
    }
    return NULL;
}

// The path in "In file included from PATH:1:".
static const char *included_from(const char *line)
{
    static const char first[] = "In file included from ";
    return strncmp(line, first, strlen(first)) == 0 ? line + strlen(first)
                                                    : NULL;
}

// A header of a library, and the user's line that includes the header.
struct inclusion {
    const char *name, *place;
};

// Finds the library header that an error is in, and the user's line that
// includes it. The "In file included from" lines begin with the user's.
static bool find_inclusion(const struct diagnostic *block,
                           struct inclusion *found)
{
    bool seen = false;
    *found = (struct inclusion){library_name(block->head), NULL};
    if (!found->name ||
        (!is_library(found->name) && !diagnostic_says(block, UNSUPPORTED)))
        return false;
    for (const char *line = block->start; line < block->head;
         line += line_size(line)) {
        const char *path = included_from(line);
        const char *name = path ? library_name(path) : NULL;
        if (!path || seen)
            continue;
        if (name)
            found->name = name;
        else
            found->place = path;
        seen = name != NULL;
    }
    return found->place;
}

#define LAUNCH "a launch by a kernel (<<<...>>>)"

// Messages of compilers about C++ features that kernels do not have.
static const char *find_feature(const struct diagnostic *block)
{
    static const struct {
        const char *said, *feature;
    } features[] = {
        {"' in asm", "inline PTX or other assembly is"},
        {"in inline assembly", "inline PTX or other assembly is"},
        {"cannot use 'throw'", "an exception is"},
        {"cannot use 'try'", "an exception is"},
        {"identifier cudaConfigureCall", LAUNCH " is"},
        {"reference to __global__ function", LAUNCH " is"},
        {"use of dynamic_cast requires", "dynamic_cast is"},
        {"<typeinfo>", "typeid is"},
        {"use of typeid requires", "typeid is"},
        {"variable length array", "an array of variable length is"}};
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (diagnostic_says(block, features[i].said))
            return features[i].feature;
    return NULL;
}

// Writes a sentence about an unsupported feature, if an error means one, and
// finds the line to report; NULL for the error's own line.
static bool explain(const struct diagnostic *block, struct text *sentence,
                    const char **out_place)
{
    size_t size = 0;
    struct text head = {0};
    text_add_bytes(&head, block->head, block->head_size);
    const char *feature = find_feature(block);
    const char *header = find_header(block, &size);
    const char *name =
        prelude_is_incomplete(head.data) ? find_missing(block, &size) : NULL;
    struct inclusion library;
    const bool inside = find_inclusion(block, &library);
    *out_place = inside ? library.place : NULL;
    if (inside)
        text_format(sentence, "<%.*s> is " UNSUPPORTED,
                    (int)strcspn(library.name, ":\n"), library.name);
    else if (feature)
        text_format(sentence, "%s " UNSUPPORTED, feature);
    else if (header)
        text_format(sentence, "<%.*s> is " UNSUPPORTED, (int)size, header);
    else if (name)
        text_format(sentence, "%.*s is " UNSUPPORTED, (int)size, name);
    text_free(&head);
    return inside || feature || header || name;
}

// The line of the user's text that made clang read generated text, which a note
// tells; NULL if none does.
static const char *find_use(const struct diagnostic *block)
{
    struct diagnostic note;
    for (const char *at = block->end; *at; at = note.end) {
        note = diagnostic_next(at);
        if (!diagnostic_says(&note, " note: "))
            return NULL;
        if (diagnostic_says(&note, "requested here") &&
            !is_generated(note.head, note.head_size))
            return note.head;
    }
    return NULL;
}

// --- Of what is said, what the user reads -----------------------------------

// Errors by importance: errors in generated text follow from the user's errors,
// and many of the user's errors from unsupported features. Only the most
// important errors are shown.
enum weight {
    NOTHING,
    ABOUT_GENERATED,
    ABOUT_SOURCE,
    ABOUT_SUPPORT,
};

static enum weight weigh(const struct diagnostic *block)
{
    struct text sentence = {0};
    const char *place;
    if (!diagnostic_says(block, " error: "))
        return NOTHING;
    bool explained = explain(block, &sentence, &place) ||
                     diagnostic_says(block, UNSUPPORTED);
    text_free(&sentence);
    if (explained)
        return ABOUT_SUPPORT;
    return !is_at_end(block) && !diagnostic_says(block, "'rnl_expression") &&
                   is_generated(block->head, block->head_size) &&
                   !find_use(block)
               ? ABOUT_GENERATED : ABOUT_SOURCE;
}

// Without the folders of the headers.
static void add_line(const char *line, size_t size, struct text *out)
{
    for (size_t i = 0; i < size;) {
        const size_t skipped = generated_folder(line + i);
        if (skipped == 0)
            text_add_bytes(out, line + i++, 1);
        i += skipped;
    }
}

// Adds the message of an error; of a failed assertion, the user's text.
static void add_message(const struct diagnostic *block, struct text *out)
{
    static const char *const before[] = {"': ", "' \"", "failed: ",
                                         "failed \""};
    const char *end = block->head + strcspn(block->head, "\n");
    const char *message = strstr(block->head, " error: ") + strlen(" error: ");
    const char *words = message;
    for (size_t i = 0; i < sizeof before / sizeof *before && words == message &&
                       diagnostic_says(block, " static");
         i++)
        for (const char *p = words; (p = strstr(p, before[i])) && p < end;)
            words = p += strlen(before[i]);
    text_add_bytes(out, words,
                   (size_t)(end - words) - (end > words && end[-1] == '"'));
}

// Adds the two lines after a head: the line of the source, and a caret.
static void add_shown(const char *line, const char *end, struct text *out)
{
    for (int i = 0; i < 2 && line < end; i++, line += line_size(line)) {
        if (line_starts_block(line, line_size(line)))
            return;
        add_line(line, line_size(line), out);
    }
}

// An error in generated text, told at the line that made it.
static void add_use(const struct diagnostic *block, const char *use,
                    struct text *out)
{
    size_t size = line_size(use), place = 0;
    while (place < size && strncmp(use + place, ": note: ", 7) != 0 &&
           strncmp(use + place, ":   required", 12) != 0)
        place++;
    add_line(use, place, out);
    text_add(out, ": error: ");
    add_message(block, out);
    text_add(out, "\n");
    if (use >= block->end)
        add_shown(use + size, use + strlen(use), out);
}

// Adds clang's message in other words, without clang's suggestion below the
// line and the caret.
static void add_explained(const struct diagnostic *block, const char *sentence,
                          struct text *out)
{
    const char *line = block->start;
    for (; line < block->head; line += line_size(line))
        if (!is_noise(line, line_size(line)))
            add_line(line, line_size(line), out);
    const char *message = strstr(line, " error: ") + strlen(" error: ");
    add_line(line, (size_t)(message - line), out);
    text_format(out, "%s\n", sentence);
    add_shown(line + line_size(line), block->end, out);
}

// An error behind the source, told at its end.
static void add_end(const struct diagnostic *block,
                    const struct diagnosed *source, struct text *out)
{
    const char *text = source->text->data ? source->text->data : "";
    size_t size = source->text->size, line = 1;
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    const char *start = text;
    for (const char *p = text; p < text + size; p++)
        if (*p == '\n')
            line++, start = p + 1;
    const int column = (int)(text + size - start);
    text_format(out, "%s:%zu:%d: error: ", source->name, line,
                column + 1);
    add_message(block, out);
    text_format(out, "\n%5zu | %.*s\n      | %*s^\n", line, column, start,
                column, "");
}

// An error in a library, told at the line that includes it.
static void add_inclusion(const struct diagnostic *block, const char *place,
                          const char *sentence, struct text *out)
{
    size_t size = strcspn(place, ":") + 1;
    size += strspn(place + size, "0123456789");
    for (const char *line = block->start;
         line < block->head && line + line_size(line) <= place;
         line += line_size(line))
        if (line[0] != ' ' && included_from(line) &&
            !library_name(included_from(line)))
            add_line(line, line_size(line), out);
    add_line(place, size, out);
    text_format(out, ": error: %s\n", sentence);
}

static void add_block(const struct diagnostic *block,
                      const struct diagnosed *source, struct text *out)
{
    struct text sentence = {0};
    const char *place = NULL;
    const char *use = diagnostic_says(block, " error: ") &&
                              is_generated(block->head, block->head_size)
                          ? find_use(block) : NULL;
    if (diagnostic_says(block, "'rnl_expression"))
        text_add(out, "name-expression: error: a name expression names a "
                      "kernel or a variable, with template arguments that its "
                      "template takes\n");
    else if (diagnostic_says(block, " error: ") && is_at_end(block))
        add_end(block, source, out);
    else if (use)
        add_use(block, use, out);
    else if (diagnostic_says(block, " error: ") &&
             explain(block, &sentence, &place) && place)
        add_inclusion(block, place, sentence.data, out);
    else if (sentence.size > 0 || diagnostic_hint(block, &sentence))
        add_explained(block, sentence.data, out);
    else
        for (const char *line = block->start; line < block->end;
             line += line_size(line))
            if (!is_noise(line, line_size(line)))
                add_line(line, line_size(line), out);
    text_free(&sentence);
}

static const char *place_of(const struct diagnostic *block)
{
    struct inclusion library;
    return find_inclusion(block, &library) ? library.place : block->head;
}

// Whether two diagnostics name the same line.
static bool same_line(const struct diagnostic *a, const struct diagnostic *b)
{
    if (!a->head || !b->head)
        return false;
    const char *place = place_of(a);
    size_t size = strcspn(place, ":") + 1;
    size += strspn(place + size, "0123456789");
    return strncmp(place, place_of(b), size) == 0 &&
           !isdigit((unsigned char)place_of(b)[size]);
}

static enum weight find_greatest(const char *errors)
{
    enum weight greatest = NOTHING;
    struct diagnostic block;
    for (const char *at = errors; *at; at = block.end) {
        block = diagnostic_next(at);
        enum weight weight = weigh(&block);
        greatest = weight > greatest ? weight : greatest;
    }
    return greatest;
}

// Sources have macros of their own for what NVRTC lacks, like INFINITY.
static bool redefines_generated(const struct diagnostic *block)
{
    struct diagnostic note = diagnostic_next(block->end);
    return diagnostic_says(block, " redefined") &&
           diagnostic_says(&note, " note: ") &&
           is_generated(note.head, note.head_size);
}

// A source may be a header, too. Functions of the prelude that do not fit are
// user_overrides.c's.
static bool is_muted(const struct diagnostic *block,
                     const struct diagnosed *source)
{
    return diagnostic_says(block, "-fbracket-depth") ||
           diagnostic_says(block, "rnl_exactly") ||
           diagnostic_says(block, "rnl_other_") ||
           (diagnostic_says(block, " warning: ") &&
            (source->no_warnings || redefines_generated(block) ||
             diagnostic_says(block, "#pragma once in main file")));
}

void diagnostics_filter(const char *errors, const struct diagnosed *source,
                        struct text *out)
{
    const enum weight greatest = find_greatest(errors);
    struct diagnostic block;
    bool dropping = false;    // notes belong to what is before them
    struct diagnostic last = {0};  // of those that say all about their line
    bool ended = false;       // what is at the end was told
    text_add(out, "");
    for (const char *at = errors; *at; at = block.end) {
        block = diagnostic_next(at);
        enum weight weight = weigh(&block);
        bool once = weight == ABOUT_SUPPORT;
        bool note = diagnostic_says(&block, " note: ");
        bool generated =
            block.head && is_generated(block.head, block.head_size);
        if (is_muted(&block, source))
            dropping = true;
        else if (weight != NOTHING)
            dropping = weight < greatest ||
                       (once && same_line(&last, &block)) ||
                       (ended && is_at_end(&block));
        else if (!note)
            dropping = generated;
        if (once)
            last = block;
        ended |= weight != NOTHING && is_at_end(&block);
        if (!dropping && !(note && generated))
            add_block(&block, source, out);
        dropping |= weight == ABOUT_SUPPORT ||
                    (weight != NOTHING && generated && !is_at_end(&block));
    }
}

// `runnel cache`: the compiled kernels that are kept on disk: list them, verify
// them, make room.
#include <getopt.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "json.h"
#include "output.h"
#include "parse.h"

enum action { LIST, VERIFY, PRUNE };

struct cache_request {
    enum action action;
    bool as_json, sized;
    size_t size;    // that prune leaves
};

// Counts and settings of a visit.
struct tally {
    struct json *json;  // or NULL
    bool damaged_only;
    uint64_t count, size, damaged;
};

// --- Entries -----------------------------------------------------------------

static void print_entry(const rnl_cache_entry *entry)
{
    char size[UNIT_TEXT_SIZE], used[32] = "";
    time_t seconds = (time_t)entry->used_s;
    struct tm when;
    if (localtime_r(&seconds, &when))
        strftime(used, sizeof used, "%Y-%m-%d %H:%M", &when);
    printf("%s  %10s  %s  ", entry->name, unit_bytes(entry->size, size), used);
    if (entry->damaged)
        print_painted(PAINT_BAD, "damaged");
    else
        printf("%-4s  %s", entry->api, entry->source);
    putchar('\n');
}

static void json_entry(struct json *json, const rnl_cache_entry *entry)
{
    json_begin(json, NULL, '{');
    json_string(json, "name", entry->name);
    json_unsigned(json, "size", entry->size);
    json_unsigned(json, "used", entry->used_s);
    json_bool(json, "damaged", entry->damaged);
    json_string(json, "api", entry->api);
    json_string(json, "source", entry->source);
    json_end(json, '}');
}

static rnl_status show(const rnl_cache_entry *entry, void *user_data)
{
    struct tally *tally = user_data;
    tally->count++;
    tally->size += entry->size;
    tally->damaged += entry->damaged;
    if (tally->damaged_only && !entry->damaged)
        return RNL_OK;
    if (tally->json)
        json_entry(tally->json, entry);
    else
        print_entry(entry);
    return RNL_OK;
}

// --- Commands ----------------------------------------------------------------

static void print_place(const rnl_cache_info *info, const struct tally *tally)
{
    char size[UNIT_TEXT_SIZE], limit[UNIT_TEXT_SIZE];
    print_row("Folder", "%s", info->path[0] ? info->path : "none");
    if (info->reason[0])
        print_row("Not used", "%s", info->reason);
    print_row("Entries", "%llu", (unsigned long long)tally->count);
    print_row("Size", "%s of %s", unit_bytes(tally->size, size),
              unit_bytes(info->size_limit, limit));
    if (tally->damaged)
        print_row("Damaged", "%llu", (unsigned long long)tally->damaged);
}

static void json_place(struct json *json, const rnl_cache_info *info,
                       const struct tally *tally)
{
    json_string(json, "path", info->path);
    json_string(json, "reason", info->reason);
    json_unsigned(json, "size_limit", info->size_limit);
    json_unsigned(json, "count", tally->count);
    json_unsigned(json, "size", tally->size);
    json_unsigned(json, "damaged", tally->damaged);
}

static int look(const struct cache_request *request, const rnl_cache_info *info)
{
    struct json json = {0};
    struct tally tally = {.damaged_only = request->action == VERIFY};
    if (request->as_json) {
        tally.json = &json;
        json_begin(&json, NULL, '{');
        json_begin(&json, "entries", '[');
    }
    rnl_status status = rnl_cache_visit(show, &tally);
    if (request->as_json) {
        json_end(&json, ']');
        json_place(&json, info, &tally);
        json_end(&json, '}');
    } else {
        print_place(info, &tally);
    }
    if (status != RNL_OK)
        return complain_failure(status);
    return request->action == VERIFY && tally.damaged ? EXIT_FAILED : EXIT_OK;
}

static int prune(const struct cache_request *request,
                 const rnl_cache_info *info)
{
    uint64_t count = 0, size = 0;
    rnl_status status = rnl_cache_prune(
        request->sized ? request->size : info->size_limit, &count, &size);
    if (status != RNL_OK)
        return complain_failure(status);
    if (request->as_json) {
        struct json json = {0};
        json_begin(&json, NULL, '{');
        json_string(&json, "path", info->path);
        json_string(&json, "reason", info->reason);
        json_unsigned(&json, "removed", count);
        json_unsigned(&json, "removed_size", size);
        json_end(&json, '}');
    } else {
        char text[UNIT_TEXT_SIZE];
        if (info->reason[0])
            print_row("Not used", "%s", info->reason);
        print_row("Removed", "%llu, %s", (unsigned long long)count,
                  unit_bytes(size, text));
    }
    return EXIT_OK;
}

// --- The command line --------------------------------------------------------

static int read_action(const char *word, enum action *out_action)
{
    static const char *const words[] = {"list", "verify", "prune"};
    for (int i = 0; i < 3; i++)
        if (strcmp(word, words[i]) == 0) {
            *out_action = (enum action)i;
            return EXIT_OK;
        }
    return complain_usage("'%s' is not expected here: list, verify or prune",
                          word);
}

static int check_request(int argc, char **argv, struct cache_request *request)
{
    int code = EXIT_OK;
    if (optind < argc)
        code = read_action(argv[optind], &request->action);
    if (code == EXIT_OK && optind + 1 < argc)
        code = complain_usage("'%s' is not expected here", argv[optind + 1]);
    if (code == EXIT_OK && request->sized && request->action != PRUNE)
        code = complain_usage("--size is for prune only");
    return code;
}

int command_cache(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"json", no_argument, NULL, 'j'},
        {"size", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    struct cache_request request = {.action = LIST};
    rnl_cache_info info = {.struct_size = sizeof info};
    int letter;
    while ((letter = next_option(argc, argv, ":js:h", long_options)) != -1) {
        switch (letter) {
        case 'j': request.as_json = true; break;
        case 's':
            if (parse_size(optarg, &request.size))
                return complain_usage("size '%s' is no number of bytes",
                                      optarg);
            request.sized = true;
            break;
        case 'h': return help_print("cache");
        default: return EXIT_USAGE;
        }
    }
    int code = check_request(argc, argv, &request);
    if (code != EXIT_OK)
        return code;
    rnl_status status = rnl_cache_get_info(&info);
    if (status != RNL_OK)
        return complain_failure(status);
    return request.action == PRUNE ? prune(&request, &info)
                                   : look(&request, &info);
}

#include "generate.h"

#include "compounds.h"
#include "grammar.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 4, COUNTERS_MAX = 8 };

// Where the next statement will stand.
struct scope {
    bool uniform;     // the whole block comes by, as far as it lives
    int mask;         // number of the mask of the lanes here; -1: unknown
    unsigned loop;    // the PLACE_..._LOOP that `break` ends, or 0
    bool again;       // `continue` is for a plain loop
    int label;        // of the loop that goto may leave, or -1
    int state;        // number of the machine around, or -1
    int row;          // number of the loop over a row around, or -1
    bool own_row;     // each element of that is one thread's
    bool limited;     // … and its index below `limit`
    int counters[COUNTERS_MAX];
    int counter_count;
    int depth;
};

struct text {
    char *bytes;
    size_t size, room;
};

struct generator {
    uint64_t state;
    unsigned features;
    struct text text;
    int number;        // of the statement being made, for names
    int last;          // the highest one so far
    int budget;        // statements still to make
    const struct scope *scope;
};

// --- Text and chance -------------------------------------------------------

__attribute__((format(printf, 2, 3))) static void
add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *piece = NULL;
    int size = vasprintf(&piece, format, arguments);
    va_end(arguments);
    if (size < 0)
        abort();
    if (text->size + (size_t)size + 1 > text->room) {
        text->room = 2 * (text->size + (size_t)size) + 256;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes)
            abort();
    }
    memcpy(text->bytes + text->size, piece, (size_t)size + 1);
    text->size += (size_t)size;
    free(piece);
}

static char *take(struct text *text)
{
    char *bytes = text->bytes ? text->bytes : strdup("");
    *text = (struct text){0};
    return bytes;
}

// A number below `limit`.
static unsigned chance(struct generator *g, unsigned limit)
{
    uint64_t x = g->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((x ^ x >> 31) >> 32) % limit;
}

// --- Rules -----------------------------------------------------------------

static unsigned places_of(const struct scope *scope)
{
    return scope->loop | (scope->uniform ? PLACE_UNIFORM : 0) |
           (scope->mask >= 0 ? PLACE_MASK : 0) |
           (scope->uniform && scope->mask == 0 ? PLACE_ALL : 0) |
           (scope->label >= 0 ? PLACE_LABEL : 0) |
           (scope->again ? PLACE_AGAIN : 0) |
           (scope->state >= 0 ? PLACE_STATE : 0) |
           (scope->row >= 0 ? PLACE_ROW : PLACE_NO_ROW) |
           (scope->own_row ? PLACE_OWN_ROW : 0) |
           (scope->limited ? PLACE_LIMIT : 0);
}

static bool fits(const struct generator *g, unsigned features, unsigned places)
{
    return !(features & ~g->features) && !(places & ~places_of(g->scope));
}

static void expand(struct generator *g, const char *template, int depth);

static void apply(struct generator *g, const struct rules *rules, int depth)
{
    bool simple = depth <= 0 || chance(g, 4) == 0;
    const struct rule *list = simple ? rules->simple : rules->all;
    size_t count = simple ? rules->simple_count : rules->count;
    const struct rule *rule;
    do
        rule = &list[chance(g, (unsigned)count)];
    while (!fits(g, rule->features, rule->places));
    expand(g, rule->text, depth - 1);
}

static void add_constant(struct generator *g)
{
    static const unsigned constants[] = {0, 1, 2, 3, 5, 7, 8, 13, 16, 31, 33};
    add(&g->text, "%uu",
        constants[chance(g, sizeof constants / sizeof *constants)]);
}

static void add_counter(struct generator *g)
{
    int count = g->scope->counter_count;
    if (count)
        add(&g->text, "(unsigned)i%d",
            g->scope->counters[chance(g, (unsigned)count)]);
    else
        add(&g->text, "tid");
}

// Floats are multiplied at most twice in a row, so that they stay finite.
static int shallow(int depth)
{
    return depth < 2 ? depth : 2;
}

static void expand_name(struct generator *g, char letter)
{
    switch (letter) {
    case 'K':
        add_constant(g);
        break;
    case 'V':
        add_counter(g);
        break;
    case 'M':
        add(&g->text, "m%d", g->scope->mask);
        break;
    case 'N':
        add(&g->text, "%d", g->number);
        break;
    case 'E':
        add(&g->text, "%d", g->scope->label);
        break;
    case 'S':
        add(&g->text, "%d", g->scope->row);
        break;
    case 'A':
        add(&g->text, "%d", g->scope->state);
        break;
    case '0':
        add(&g->text, "%u", chance(g, 4));
        break;
    case '1':
        add(&g->text, "%u", chance(g, 2));
        break;
    default:
        add(&g->text, "%uu", 1u << chance(g, 6));
    }
}

static void expand_letter(struct generator *g, char letter, int depth)
{
    switch (letter) {
    case 'U':
        apply(g, &rules_unsigned, depth);
        break;
    case 'W':
        apply(g, &rules_wide, depth);
        break;
    case 'F':
        apply(g, &rules_float, shallow(depth));
        break;
    case 'D':
        apply(g, &rules_double, shallow(depth));
        break;
    case 'C':
        apply(g, &rules_condition, depth);
        break;
    case 'I':
        apply(g, &rules_index, depth);
        break;
    case 'L':
        apply(g, &rules_line, depth);
        break;
    case 'G':
        apply(g, &rules_near, depth);
        break;
    case 'X':
        apply(g, &rules_uniform, depth);
        break;
    case 'Y':
        apply(g, &rules_uniform_condition, depth);
        break;
    default:
        expand_name(g, letter);
    }
}

static void expand(struct generator *g, const char *template, int depth)
{
    while (*template) {
        size_t plain = strcspn(template, "$");
        add(&g->text, "%.*s", (int)plain, template);
        template += plain;
        if (*template) {
            expand_letter(g, template[1], depth);
            template += 2;
        }
    }
}

static char *expanded(struct generator *g, const char *template)
{
    if (!template)
        return strdup("");
    expand(g, template, 1 + (chance(g, 3) == 0));
    return take(&g->text);
}

// --- Statements with others inside -----------------------------------------

static struct scope inner_scope(const struct generator *g,
                                const struct compound *compound, int number)
{
    struct scope scope = *g->scope;
    scope.depth++;
    if (compound->inner & INNER_DIVERGES) {
        scope.uniform = false;
        scope.mask = compound->inner & INNER_MASK ? number : -1;
        scope.loop &= PLACE_PLAIN_LOOP;
    }
    if (compound->inner & INNER_SWITCH)
        scope.loop = 0;
    if (compound->loop) {
        scope.loop = compound->loop;
        scope.again = compound->loop == PLACE_PLAIN_LOOP;
    }
    if (compound->inner & INNER_STATE)
        scope.state = number;
    if (compound->inner & INNER_ROW) {
        scope.row = number;
        scope.own_row = compound->inner & INNER_OWN_ROW;
        scope.limited = compound->inner & INNER_LIMIT;
    }
    if (compound->inner & (INNER_STATE | INNER_ROW))
        scope.again = !(compound->inner & INNER_STEP);
    if (compound->inner & INNER_LABEL)
        scope.label = number;
    if (compound->inner & INNER_COUNTER && scope.counter_count < COUNTERS_MAX)
        scope.counters[scope.counter_count++] = number;
    return scope;
}

static struct statement *generate_list(struct generator *g,
                                       const struct scope *scope);

static struct statement *statement_new(char *head)
{
    struct statement *statement = calloc(1, sizeof *statement);
    if (!statement || !head)
        abort();
    statement->head = head;
    return statement;
}

// Whether a rule suits a loop over a row. What does not change in the loop is
// computed before it, and the simplest loops are to stay so.
static bool suits_row(const struct rule *rule, bool simple)
{
    return rule->places & (PLACE_ROW | PLACE_OWN_ROW) &&
           !(simple && (strstr(rule->text, "$U") || strstr(rule->text, "$C")));
}

static struct statement *generate_leaf(struct generator *g)
{
    const struct rule *rule;
    bool simple = g->scope->depth > DEPTH_MAX;
    bool row = g->scope->row >= 0 && (simple || chance(g, 3));
    do
        rule = &rules_statement.all[chance(g, (unsigned)rules_statement.count)];
    while (!fits(g, rule->features, rule->places) ||
           (row && !suits_row(rule, simple)));
    return statement_new(expanded(g, rule->text));
}

// A template expanded in an outer scope, as part of statement `number`.
static char *expanded_in(struct generator *g, const struct scope *scope,
                         int number, const char *template)
{
    g->scope = scope;
    g->number = number;
    return expanded(g, template);
}

static struct statement *generate_compound(struct generator *g,
                                           const struct compound *compound)
{
    const struct scope outer = *g->scope;
    int number = ++g->last;
    struct scope scope = inner_scope(g, compound, number);
    struct statement *statement =
        statement_new(expanded_in(g, &outer, number, compound->head));
    struct statement **link = &statement->first;
    for (int i = 0; i < BRANCHES_MAX && compound->branches[i][0]; i++) {
        *link = statement_new(
            expanded_in(g, &outer, number, compound->branches[i][0]));
        (*link)->first = generate_list(g, &scope);
        (*link)->tail =
            expanded_in(g, &outer, number, compound->branches[i][1]);
        link = &(*link)->next;
    }
    if (!compound->branches[0][0])
        statement->first = generate_list(g, &scope);
    statement->tail = expanded_in(g, &outer, number, compound->tail);
    return statement;
}

static struct statement *generate_statement(struct generator *g,
                                            const struct scope *scope)
{
    g->scope = scope;
    g->budget--;
    if (scope->depth >= DEPTH_MAX || chance(g, 3))
        return generate_leaf(g);
    const struct compound *compound;
    do
        compound = &compounds[chance(g, (unsigned)compound_count)];
    while (!fits(g, compound->features, compound->places));
    return generate_compound(g, compound);
}

// Loops over rows are taken apart only at the kernel's begin, and simple ones.
static struct statement *generate_opening(struct generator *g,
                                          const struct scope *scope)
{
    struct scope alone = *scope;
    bool simple = chance(g, 4);
    alone.depth = simple ? DEPTH_MAX : 0;
    g->scope = &alone;
    g->budget--;
    const struct compound *compound;
    do
        compound = &compounds[chance(g, (unsigned)compound_count)];
    while (!(compound->inner & (simple ? INNER_OPENING : INNER_ROW)) ||
           !fits(g, compound->features, compound->places));
    return generate_compound(g, compound);
}

static struct statement *generate_list(struct generator *g,
                                       const struct scope *scope)
{
    struct statement *first = NULL, **link = &first;
    for (unsigned i = 1 + chance(g, 4); i && g->budget > 0; i--) {
        *link = generate_statement(g, scope);
        link = &(*link)->next;
    }
    return first;
}

// --- Kernels ---------------------------------------------------------------

static unsigned choose_features(struct generator *g)
{
    unsigned features = 0;
    for (unsigned bit = 1; bit <= FEATURE_SLOT; bit <<= 1)
        features |= chance(g, 2) ? bit : 0;
    // What no vectorising compiler likes is kept rare.
    features |= chance(g, 8) ? 0 : FEATURE_RECURSION;
    features |= chance(g, 8) ? 0 : FEATURE_CALL;
    features |= chance(g, 24) ? 0 : FEATURE_POINTER;
    features |= chance(g, 12) ? 0 : FEATURE_EXACT;
    features |= chance(g, 4) ? 0 : FEATURE_STRUCT;
    if (chance(g, 4))
        features |= FEATURE_LOOP;
    features |= chance(g, 2) ? 0 : FEATURE_STRIDE;
    features |= chance(g, 4) ? 0 : FEATURE_MACHINE;
    features |= chance(g, 3) ? 0 : FEATURE_LINE;
    features |= chance(g, 4) ? 0 : FEATURE_MINE;
    features |= chance(g, 3) ? 0 : FEATURE_NARROW;
    features |= chance(g, 4) ? 0 : FEATURE_FOUR;
    features |= chance(g, 4) ? 0 : FEATURE_ARRAYS;
    // A third of the code suffices for what knows one axis.
    features |= chance(g, 4) ? 0 : FEATURE_AXES;
    // Their elements need loops before the kernel begins.
    if (features & FEATURE_STRIDE && chance(g, 4))
        features &= ~(unsigned)(FEATURE_LINE | FEATURE_BINS | FEATURE_PRIVATE);
    // A mask would name lanes that have returned elsewhere.
    if (features & FEATURE_WARP)
        features &= ~(unsigned)FEATURE_RETURN;
    return features;
}

void kernel_generate(struct kernel *kernel, uint64_t seed, bool all_axes)
{
    struct generator g = {.state = seed * UINT64_C(0x2545f4914f6cdd1d)};
    g.features = choose_features(&g) | (all_axes ? FEATURE_AXES : 0);
    struct scope scope = {.uniform = true, .label = -1, .state = -1,
                          .row = -1};
    scope.mask = g.features & FEATURE_WARP ? 0 : -1;
    *kernel = (struct kernel){.seed = seed, .features = g.features,
                              .one_axis = !(g.features & FEATURE_AXES)};
    snprintf(kernel->name, sizeof kernel->name, "k%llu",
             (unsigned long long)seed);
    struct statement **link = &kernel->body;
    // Many small kernels find more than few large ones.
    g.budget = 2 + (int)chance(&g, 1 + chance(&g, 12));
    if (chance(&g, 96) == 0)
        g.budget += 40;
    while (g.features & FEATURE_STRIDE && chance(&g, 4) && g.budget > 0) {
        *link = generate_opening(&g, &scope);
        link = &(*link)->next;
    }
    for (; g.budget > 0; link = &(*link)->next)
        *link = generate_statement(&g, &scope);
}

static void free_list(struct statement *statement)
{
    while (statement) {
        struct statement *next = statement->next;
        free_list(statement->first);
        free(statement->head);
        free(statement->tail);
        free(statement);
        statement = next;
    }
}

void kernel_free(struct kernel *kernel)
{
    free_list(kernel->body);
    kernel->body = NULL;
}

// --- Modules ---------------------------------------------------------------

static void add_lines(struct text *text, const char *lines, int depth)
{
    while (lines && *lines) {
        size_t size = strcspn(lines, "\n");
        add(text, "%*s%.*s\n", 4 * depth, "", (int)size, lines);
        lines += size + (lines[size] == '\n');
    }
}

static void add_list(struct text *text, const struct statement *statement,
                     int depth)
{
    for (; statement; statement = statement->next) {
        if (statement->dropped)
            continue;
        int around = statement->opened ? 0 : 1;
        if (around)
            add_lines(text, statement->head, depth);
        add_list(text, statement->first, depth + around);
        if (around)
            add_lines(text, statement->tail, depth);
    }
}

// Text that a kernel has if its body uses one of the names, which are words.
struct part {
    const char *names;  // or NULL: always
    const char *lines;
};

// clang-format off
static const char index_all_axes[] =
    "unsigned T = blockDim.x * blockDim.y * blockDim.z;\n"
    "unsigned row = threadIdx.y + blockDim.y * threadIdx.z;\n"
    "unsigned rows = blockDim.y * blockDim.z;\n"
    "unsigned tid = threadIdx.x + blockDim.x * row;";
static const char index_one_axis[] =
    "unsigned T = blockDim.x, row = 0u, rows = 1u, tid = threadIdx.x;";

// What rules may use. Shared memory is written before anyone can return.
static const struct part prologue[] = {
    {NULL, "unsigned bid = blockIdx.x + gridDim.x * blockIdx.y;\n"
           "unsigned gid = bid * T + tid, lane = tid & 31u;\n"
           "unsigned u0 = (unsigned)in[gid], u1 = gid * 7u + 3u, u2 = tid;\n"
           "unsigned u3 = (unsigned)in[gid + 1u] ^ lane;"},
    {"it", "const int it = (int)tid;"}, {"ig", "const int ig = (int)gid;"},
    {"slot", "int *slot = out + gid * 4u;"},
    {"w0", "unsigned long long w0 = u0 * 0x100000001ull;"},
    {"w1", "unsigned long long w1 = ~0ull * gid;"},
    {"f0", "float f0 = (float)in[gid];"},
    {"f1", "float f1 = (float)(int)tid * 0.25f;"},
    {"d0", "double d0 = (double)in[gid] / 3.0;"},
    {"d1", "double d1 = (double)bid;"},
    {"own", "unsigned own[8];\n#pragma unroll 1\n"
            "for (unsigned k = 0; k < 8u; k++) own[k] = u0 + k;"},
    {"p0", "pair p0(u0, u1);"},
    {"p1", "pair p1(u2, u3);"},
    {"small0", "unsigned char small0 = (unsigned char)u0;"},
    {"small1", "unsigned char small1 = (unsigned char)tid;"},
    {"short0", "short short0 = (short)u1;"},
    {"short1", "short short1 = (short)lane;"},
    {"flag0", "bool flag0 = (u0 & 1u) != 0u;"},
    {"flag1", "bool flag1 = tid > 3u;"},
    {"four0", "int4 four0 = make_int4(1, (int)u0, 3, (int)tid);"},
    {"four1", "int4 four1 = make_int4((int)bid, 5, (int)lane, (int)u3);"},
    {"own_c", "signed char own_c[8];\n#pragma unroll 1\n"
              "for (int k = 0; k < 8; k++) own_c[k] = (signed char)(u0 >> k);"},
    {"own_w", "unsigned long long own_w[4] = {u0, 1u, u1 * 0x10001ull, 3u};"},
    {"own_v", "int own_v[5] = {1, 2, 3, 4, 5};"},
    {"own_p", "pair own_p[2] = {pair(u0, u1), pair(u2, u3)};"},
    {"totals", "unsigned *totals = (unsigned *)out + (n - 64);"},
    {"m0", "unsigned left = T - (tid & ~31u);\n"
           "unsigned m0 = left >= 32u ? ~0u : (1u << left) - 1u;"},
    {"across", "const unsigned across = gridDim.x * blockDim.x;"},
    {"bins", "__shared__ unsigned bins[24];\n"
             "if (tid == 0u) for (unsigned k = 0; k < 24u; k++) bins[k] = k;"},
    {"sh", "sh[tid] = u0;"},
    {"mine", "__shared__ unsigned mine[256];\nmine[tid] = u1;"},
    {"mine_f", "__shared__ float mine_f[256];\nmine_f[tid] = 0.5f;"},
    {"mine_w", "__shared__ unsigned long long mine_w[256];\n"
               "mine_w[tid] = u0;"},
    {"line_c", "__shared__ signed char line_c[260];\n"
               "if (tid == 0u) for (unsigned k = 0; k < 260u; k++)\n"
               "    line_c[k] = (signed char)(k * 7u);"},
    {"line_s", "__shared__ short line_s[260];\n"
               "if (tid == 0u) for (unsigned k = 0; k < 260u; k++)\n"
               "    line_s[k] = (short)(k * 1031u);"},
    {"line_u", "__shared__ unsigned line_u[260];\n"
               "if (tid == 0u) for (unsigned k = 0; k < 260u; k++)\n"
               "    line_u[k] = k * 65537u;"},
    {"line_f", "__shared__ float line_f[260];\n"
               "if (tid == 0u) for (unsigned k = 0; k < 260u; k++)\n"
               "    line_f[k] = (float)(int)k;"},
    {"line_w", "__shared__ unsigned long long line_w[260];\n"
               "if (tid == 0u) for (unsigned k = 0; k < 260u; k++)\n"
               "    line_w[k] = k * 0x100000001ull;"},
    {"line_d", "__shared__ double line_d[260];\n"
               "if (tid == 0u) for (unsigned k = 0; k < 260u; k++)\n"
               "    line_d[k] = 0.5 * (double)(int)k;"},
    {"sh bins line_c line_s line_u line_f line_w line_d", "__syncthreads();"},
};

static const struct part epilogue[] = {
    {"w0", "u0 ^= (unsigned)(w0 ^ w0 >> 32);"},
    {"w1", "u1 += (unsigned)(w1 >> 16);"},
    {"f0", "u1 ^= __float_as_uint(f0);"},
    {"f1", "u2 += __float_as_uint(f1);"},
    {"d0", "u3 ^= (unsigned)(__double_as_longlong(d0) >> 20);"},
    {"d1", "u2 ^= (unsigned)(__double_as_longlong(d1) >> 32);"},
    {"own", "#pragma unroll 1\n"
            "for (unsigned k = 0; k < 8u; k++) u3 = u3 * 31u + own[k];"},
    {"p0", "u0 += p0.low * p0.part[0];"},
    {"p1", "u0 += p1.part[1];"},
    {"small0", "u0 += small0;"}, {"small1", "u1 ^= small1;"},
    {"short0", "u2 += (unsigned)short0;"}, {"short1", "u3 ^= (unsigned)short1;"},
    {"flag0", "u0 ^= (unsigned)flag0;"}, {"flag1", "u1 += (unsigned)flag1;"},
    {"four0", "u0 ^= (unsigned)(four0.x ^ four0.y);\n"
              "u1 += (unsigned)four0.z + (unsigned)four0.w;"},
    {"four1", "u2 ^= (unsigned)(four1.x ^ four1.y);\n"
              "u3 += (unsigned)four1.z + (unsigned)four1.w;"},
    {"own_c", "#pragma unroll 1\n"
              "for (int k = 0; k < 8; k++) u3 = u3 * 31u + (unsigned)own_c[k];"},
    {"own_w", "u2 += (unsigned)((own_w[0] ^ own_w[1] ^ own_w[2] ^ own_w[3]) >> 7);"},
    {"own_v", "u0 += (unsigned)own_v[lane % 5u];"},
    {"own_p", "u1 ^= own_p[0].low * own_p[1].part[1] + own_p[1].low;"},
    {"sh", "u2 ^= sh[T - 1u - tid];"},
    {"mine", "u0 ^= mine[tid];"},
    {"mine_f", "u1 += __float_as_uint(mine_f[tid]);"},
    {"mine_w", "u2 += (unsigned)(mine_w[tid] >> 16);"},
    {"bins", "__syncthreads();\nu1 ^= bins[tid % 24u];"},
};

// The last results. Neighbours of a thread in a row cost a compiler less than
// its four in a row do, so those are for kernels that use them otherwise, too.
static const char epilogue_slot[] =
    "slot[0] = (int)u0;\nslot[1] = (int)u1;\nslot[2] ^= (int)u2;\n"
    "slot[3] = (int)((unsigned)slot[3] + u3);";
static const char epilogue_rows[] =
    "out += gid;\nn = (int)(gridDim.x * gridDim.y * T);\n"
    "out[0] = (int)u0;\nout[n] = (int)u1;\nout[2 * n] ^= (int)u2;\n"
    "out[3 * n] = (int)((unsigned)out[3 * n] + u3);";
// clang-format on

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool uses_word(const char *text, const char *word, size_t size)
{
    for (const char *at = text; (at = strchr(at, word[0])); at++)
        if (!strncmp(at, word, size) && !is_of_word(at[size]) &&
            (at == text || !is_of_word(at[-1])))
            return true;
    return false;
}

static bool uses(const char *text, const char *names)
{
    for (; *names; names += strspn(names, " ")) {
        size_t size = strcspn(names, " ");
        if (uses_word(text, names, size))
            return true;
        names += size;
    }
    return false;
}

static void add_parts(struct text *text, const char *body,
                      const struct part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!parts[i].names || uses(body, parts[i].names))
            add_lines(text, parts[i].lines, 1);
}

static void add_kernel(struct text *text, const struct kernel *kernel)
{
    struct text list = {0};
    add_list(&list, kernel->body, 1);
    char *body = take(&list);
    add(text, "\nextern \"C\" __global__ void %s(int *out, const int *in, "
              "int n,\n    int limit, int stride)\n{\n", kernel->name);
    if (uses(body, "sh"))
        add_lines(text, kernel->features & FEATURE_DYNAMIC
                            ? "extern __shared__ unsigned sh[];"
                            : "__shared__ unsigned sh[256];", 1);
    add_lines(text, kernel->features & FEATURE_AXES ? index_all_axes
                                                    : index_one_axis, 1);
    add_parts(text, body, prologue, sizeof prologue / sizeof *prologue);
    add(text, "\n%s\n", body);
    add_parts(text, body, epilogue, sizeof epilogue / sizeof *epilogue);
    add_lines(text, uses(body, "slot") ? epilogue_slot : epilogue_rows, 1);
    add(text, "}\n");
    free(body);
}

char *kernel_module(const struct kernel *kernels, size_t count)
{
    struct text text = {0};
    add(&text, "%s", grammar_preamble);
    for (size_t i = 0; i < count; i++)
        add_kernel(&text, &kernels[i]);
    return take(&text);
}

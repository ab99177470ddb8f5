// Numbers and names from the command line, strictly: no sign where none makes
// sense, no spaces, nothing behind the number, no silent overflow.
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const not_whole = "is not a whole number";
static const char *const too_large = "is too large";
static const char *const too_small = "is too small";

// 0x… is hexadecimal; a leading 0 alone does not mean octal.
static int base_of(const char *text)
{
    return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
}

static bool starts_number(const char *text)
{
    int base = base_of(text);
    return base == 16 ? isxdigit((unsigned char)text[2]) != 0
                      : isdigit((unsigned char)text[0]) != 0;
}

// Reads digits up to `*out_end`.
static const char *read_unsigned(const char *text, uint64_t *out,
                                 const char **out_end)
{
    if (!starts_number(text))
        return not_whole;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base_of(text));
    if (errno == ERANGE)
        return too_large;
    *out = value;
    *out_end = end;
    return NULL;
}

const char *parse_unsigned(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t value;
    const char *end;
    const char *problem = read_unsigned(text, &value, &end);
    if (problem)
        return problem;
    if (*end)
        return not_whole;
    if (value > max)
        return too_large;
    *out = value;
    return NULL;
}

const char *parse_signed(const char *text, int64_t min, int64_t max,
                         int64_t *out)
{
    bool negative = text[0] == '-';
    const char *digits = negative || text[0] == '+' ? text + 1 : text;
    uint64_t magnitude;
    const char *problem = parse_unsigned(digits, UINT64_MAX, &magnitude);
    if (problem)
        return negative && problem == too_large ? too_small : problem;
    // -INT64_MIN is no int64_t, so the limits are compared without sign.
    uint64_t lowest = min < 0 ? 0 - (uint64_t)min : 0;
    if (negative && magnitude > lowest)
        return too_small;
    if (!negative && (max < 0 || magnitude > (uint64_t)max))
        return too_large;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return NULL;
}

const char *parse_real(const char *text, double *out)
{
    if (!text[0] || isspace((unsigned char)text[0]))
        return "is not a number";
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end)
        return "is not a number";
    // ERANGE also reports harmless underflow.
    if (errno == ERANGE && isinf(value))
        return too_large;
    *out = value;
    return NULL;
}

static int shift_of(char unit)
{
    switch (unit) {
    case 'k': case 'K': return 10;
    case 'm': case 'M': return 20;
    case 'g': case 'G': return 30;
    default: return 0;
    }
}

const char *parse_size(const char *text, size_t *out)
{
    uint64_t value;
    const char *end;
    const char *problem = read_unsigned(text, &value, &end);
    if (problem)
        return problem;
    int shift = shift_of(*end);
    if (shift)
        end += end[1] == 'i' ? 2 : 1;
    if (*end)
        return "is not a number with an optional K, M or G";
    if (value > SIZE_MAX >> shift)
        return too_large;
    *out = (size_t)value << shift;
    return NULL;
}

const char *parse_dim3(const char *text, rnl_dim3 *out)
{
    uint32_t axes[3] = {1, 1, 1};
    const char *rest = text;
    for (int i = 0; i < 3; i++) {
        // In "0x2" the x stands between axes, so no hexadecimal here.
        if (!isdigit((unsigned char)*rest))
            return "is not of the form X, X,Y or X,Y,Z";
        char *end;
        errno = 0;
        unsigned long long value = strtoull(rest, &end, 10);
        if (errno == ERANGE || value > UINT32_MAX)
            return too_large;
        if (value == 0)
            return "has a dimension of zero";
        axes[i] = (uint32_t)value;
        rest = end;
        if (!*rest)
            break;
        if (*rest != ',' && *rest != 'x')
            return "is not of the form X, X,Y or X,Y,Z";
        rest++;
        if (i == 2)
            return "has more than three dimensions";
    }
    *out = (rnl_dim3){axes[0], axes[1], axes[2]};
    return NULL;
}

const char *parse_device(const char *text, char api[DEVICE_API_SIZE],
                         size_t *out_index)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length == 0 || length >= DEVICE_API_SIZE)
        return "is not of the form API or API:INDEX";
    uint64_t index = 0;
    if (colon && parse_unsigned(colon + 1, UINT32_MAX, &index))
        return "is not of the form API or API:INDEX";
    memcpy(api, text, length);
    api[length] = 0;
    *out_index = (size_t)index;
    return NULL;
}

const char *parse_range(const char *text, struct print_range *out)
{
    static const char *const form = "is not of the form [ARGUMENT=]FIRST:END";
    struct print_range range = {0};
    uint64_t argument, first, end;
    const char *rest = text;
    if (strchr(text, '=')) {
        if (read_unsigned(text, &argument, &rest) || *rest != '=')
            return form;
        if (argument == 0)
            return "counts arguments from 0; the first is 1";
        range.one_argument = true;
        range.argument = (size_t)argument - 1;
        rest++;
    }
    if (read_unsigned(rest, &first, &rest) || *rest != ':' ||
        read_unsigned(rest + 1, &end, &rest) || *rest)
        return form;
    if (end < first)
        return "ends before it starts";
    range.first = (size_t)first;
    range.end = (size_t)end;
    *out = range;
    return NULL;
}

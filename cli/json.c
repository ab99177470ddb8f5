// Writes JSON to standard output.
#include "json.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Bytes of the UTF-8 character at `text`, or 0 where there is none.
static size_t utf8_length(const unsigned char *text)
{
    size_t length = text[0] < 0x80   ? 1
                    : text[0] < 0xc2 ? 0
                    : text[0] < 0xe0 ? 2
                    : text[0] < 0xf0 ? 3
                    : text[0] < 0xf5 ? 4
                                     : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    // Too long a form, half of a UTF-16 pair, or beyond the last character.
    bool wrong = (text[0] == 0xe0 && text[1] < 0xa0) ||
                 (text[0] == 0xed && text[1] > 0x9f) ||
                 (text[0] == 0xf0 && text[1] < 0x90) ||
                 (text[0] == 0xf4 && text[1] > 0x8f);
    return wrong ? 0 : length;
}

static void write_string(const char *value)
{
    const unsigned char *text = (const unsigned char *)value;
    putchar('"');
    while (*text) {
        size_t length = utf8_length(text);
        if (length == 0)
            fputs("\\ufffd", stdout);
        else if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if (*text == '\n')
            fputs("\\n", stdout);
        else if (*text < 0x20)
            printf("\\u%04x", *text);
        else
            fwrite(text, 1, length, stdout);
        text += length ? length : 1;
    }
    putchar('"');
}

static void start_value(struct json *json, const char *key)
{
    if (json->comma)
        putchar(',');
    if (json->depth)
        printf("\n%*s", 2 * json->depth, "");
    if (key) {
        write_string(key);
        fputs(": ", stdout);
    }
    json->comma = true;
}

void json_begin(struct json *json, const char *key, char bracket)
{
    start_value(json, key);
    putchar(bracket);
    json->depth++;
    json->comma = false;
}

void json_end(struct json *json, char bracket)
{
    json->depth--;
    if (json->comma)
        printf("\n%*s", 2 * json->depth, "");
    putchar(bracket);
    if (json->depth == 0)
        putchar('\n');
    json->comma = true;
}

void json_string(struct json *json, const char *key, const char *value)
{
    start_value(json, key);
    write_string(value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
    start_value(json, key);
    printf("%" PRIu64, value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
    start_value(json, key);
    printf("%" PRId64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    start_value(json, key);
    fputs(value ? "true" : "false", stdout);
}

void json_null(struct json *json, const char *key)
{
    start_value(json, key);
    fputs("null", stdout);
}

void json_number(struct json *json, const char *key, const char *digits)
{
    size_t sign = digits[0] == '-';
    if (!isdigit((unsigned char)digits[sign])) {
        json_string(json, key, digits);
        return;
    }
    start_value(json, key);
    fputs(digits, stdout);
}

void json_dim3(struct json *json, const char *key, rnl_dim3 dim)
{
    json_begin(json, key, '[');
    json_unsigned(json, NULL, dim.x);
    json_unsigned(json, NULL, dim.y);
    json_unsigned(json, NULL, dim.z);
    json_end(json, ']');
}

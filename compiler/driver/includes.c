// Files that the source includes, read from the rule for make of clang.

#include "driver/driver.h"

#include <string.h>

#define RULE_FILE "includes.d"

void includes_words(const struct job *job, struct list *command)
{
    if (!job->choices.report_includes)
        return;
    list_add(command, "-MD");
    list_add(command, "-MF");
    list_add(command, RULE_FILE);
}

// Takes the next name of the rule, without make's escapes. NULL at the end.
static char *take_name(char **rest)
{
    char *from = *rest + strspn(*rest, " \\\n"), *name = from, *to = from;
    if (!*from)
        return NULL;
    for (; *from && *from != ' ' && *from != '\n'; from++) {
        bool escapes = (from[0] == '\\' && from[1] && strchr(" #", from[1])) ||
                       (from[0] == '$' && from[1] == '$');
        from += escapes;
        *to++ = *from;
    }
    *rest = *from ? from + 1 : from;
    *to = 0;
    return name;
}

// Names of the private folder, such as the prelude's, are relative.
void includes_report(struct job *job)
{
    char path[4200];
    struct text rule = {0};
    in_folder(path, RULE_FILE);
    char *rest = text_read_file(&rule, path) ? rule.data : NULL;
    for (char *name; rest && (name = take_name(&rest));)
        if (name[0] == '/')
            text_format(&job->log, "%s: remark: includes '%s'\n",
                        job->options->name, name);
    text_free(&rule);
}

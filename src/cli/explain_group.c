#include "cli/explain_group.h"

#include <string.h>

#include "cases/components.h"
#include "check/runner.h"
#include "cli/colour.h"
#include "op/text.h"
#include "op/wrap.h"

/* A group of more cases is printed as the groups that are in it. */
enum { LARGE = 60, INDENT = 4 };

int hc_group_of(const struct hc_case *const *cases, int count, const char *word,
                const struct hc_case *const **first)
{
    int n = 0;
    *first = NULL;
    for (int c = 0; c < count && !strpbrk(word, "*?["); c++)
        if (hc_matches(&word, 1, cases[c]->name)) {
            if (n++ == 0)
                *first = &cases[c];
        }
    return n;
}

static void print_cases(FILE *out, const struct hc_case *const *cases, int count)
{
    for (int c = 0; c < count; c++) {
        hc_colour_print(out, HC_COLOUR_STRONG, "%s", cases[c]->name);
        (void)fprintf(out, "\n%*s", INDENT, "");
        hc_print_wrapped(out, INDENT, INDENT, cases[c]->title);
    }
}

/* The groups one slash deeper, in the order of their names. */
static void print_groups(FILE *out, const struct hc_case *const *cases, int count, size_t length)
{
    for (int c = 0; c < count;) {
        const char *name = cases[c]->name;
        const char *slash = strchr(name + length, '/');
        size_t group = slash ? (size_t)(slash - name) : strlen(name);
        int first = c;
        while (c < count && strncmp(cases[c]->name, name, group + (slash != NULL)) == 0)
            c++;
        hc_print(out, "%6d  %.*s\n", c - first, (int)group, name);
    }
}

static void print_next(FILE *out, const char *name, const char *word)
{
    if (name)
        hc_print(out, "\nnext: halfcheck explain %s shows its numbers\n", name);
    else
        hc_print(out, "\nnext: halfcheck explain with a name above lists that group\n");
    hc_print(out, "      halfcheck run %s checks all of them\n", word);
}

void hc_print_group(FILE *out, const struct hc_case *const *cases, int count, const char *word)
{
    size_t length = strlen(word);
    bool slash = length > 0 && word[length - 1] == '/';
    const char *claims = hc_component_claims(word);
    char line[256];
    (void)snprintf(line, sizeof line, "%d cases%s%s", count, claims ? ": " : "",
                   claims ? claims : "");
    hc_colour_print(out, HC_COLOUR_STRONG, "%s", word);
    (void)fputs("  ", out);
    hc_print_wrapped(out, (int)length + 2, INDENT, line);
    (void)fputc('\n', out);
    if (count > LARGE)
        print_groups(out, cases, count, slash ? length : length + 1);
    else
        print_cases(out, cases, count);
    print_next(out, count > LARGE ? NULL : cases[0]->name, word);
}

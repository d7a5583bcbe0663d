#include "cases/plugin.h"

#include <stdio.h>
#include <string.h>

#include "case.h"
#include "cases/registry.h"
#include "op/text.h"
#include "plugins.h"

enum { MAX_NAME = 100 };

/* component/claim, as the names of all cases. */
static bool is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_./");
    const char *slash = strchr(name, '/');
    return !name[length] && length <= MAX_NAME && slash && slash != name && slash[1];
}

/* Titles and sources are printed as they are. */
static bool is_line(const char *text)
{
    char character[5];
    for (const char *at = text, *from = text; hc_text_next(&at, character); from = at)
        if ((size_t)(at - from) != strlen(character) ||
            memcmp(from, character, strlen(character)) != 0)
            return false;
    return text[0];
}

/* Whether another table has the component of this name, which ends at a slash. */
static bool is_taken(const char *name, const struct hc_case *const *cases, int n)
{
    size_t length = (size_t)(strchr(name, '/') - name) + 1;
    for (int i = 0; i < n; i++)
        if (strncmp(cases[i]->name, name, length) == 0)
            return true;
    return false;
}

static bool is_twice(const struct hc_case_table *table, int i)
{
    for (int other = 0; other < i; other++)
        if (strcmp(table->cases[other].name, table->cases[i].name) == 0)
            return true;
    return false;
}

/* What is wrong with case i of a table, or NULL. */
static const char *wrong_with(const struct hc_case_table *table, int i,
                              const struct hc_case *const *cases, int n)
{
    const struct hc_case *c = &table->cases[i];
    if (!c->name || !is_name(c->name))
        return "has no name component/claim of small letters, digits and - _ .";
    if (is_taken(c->name, cases, n))
        return "has a component of other cases: take one of your own";
    if (is_twice(table, i))
        return "has another one's name";
    if (!c->title || !is_line(c->title) || !c->source || !is_line(c->source))
        return "lacks a title or a source of one line";
    if ((unsigned)c->level > HC_EXHAUSTIVE)
        return "has an impossible level";
    return c->run ? NULL : "has no function";
}

enum hc_status hc_cases_of_plugin(const char *file)
{
    int n;
    const struct hc_case_plugin *plugin = hc_plugins_symbol("hc_plugin_cases");
    if (!plugin)
        return HC_OK;
    if (plugin->abi != HC_CASE_ABI)
        return hc_fail(HC_INVALID,
                       "%s has cases built with the headers of another halfcheck (%08x) than this "
                       "one's (%08x)",
                       file, plugin->abi, HC_CASE_ABI);
    const struct hc_case_table *table = &plugin->table;
    if (table->count < 1 || !table->cases)
        return hc_fail(HC_INVALID, "%s has no cases", file);
    const struct hc_case *const *cases = hc_all_cases(&n);
    if (!cases)
        return HC_NO_MEMORY;
    for (int i = 0; i < table->count; i++) {
        const char *wrong = wrong_with(table, i, cases, n);
        if (wrong)
            return hc_fail(HC_INVALID, "%s: its case %d %s", file, i + 1, wrong);
    }
    return hc_cases_add(table);
}

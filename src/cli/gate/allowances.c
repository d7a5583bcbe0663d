#include "cli/gate/allowances.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/record/former.h"
#include "check/runner.h"
#include "cli/gate/gate.h"
#include "op/output.h"

hc_date hc_date_today(void)
{
    time_t now = time(NULL);
    struct tm date = {0};
    (void)gmtime_r(&now, &date);
    return (date.tm_year + 1900) * 10000 + (date.tm_mon + 1) * 100 + date.tm_mday;
}

hc_date hc_date_read(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int number[3] = {0};
    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-')
        return 0;
    for (int i = 0; i < 10; i++) {
        int part = (i > 4) + (i > 7);
        if (i == 4 || i == 7)
            continue;
        if (text[i] < '0' || text[i] > '9')
            return 0;
        number[part] = 10 * number[part] + text[i] - '0';
    }
    int year = number[0];
    int month = number[1];
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || number[2] < 1 ||
        number[2] > days[month - 1] + (month == 2 && leap))
        return 0;
    return year * 10000 + month * 100 + number[2];
}

void hc_date_write(hc_date day, char text[HC_DATE_TEXT])
{
    (void)snprintf(text, HC_DATE_TEXT, "%04d-%02d-%02d", day / 10000 % 10000, day / 100 % 100,
                   day % 100);
}

/* A case may be meant by its name or by the one that it had in the version before. */
static bool matches_case(const char *pattern, const char *name)
{
    hc_case_name former;
    return hc_matches(&pattern, 1, name) ||
           (hc_former_name(name, former) && hc_matches(&pattern, 1, former));
}

bool hc_allowance_matches(const struct hc_allowance *allowance, const char *name,
                          const char *backend)
{
    char cases[HC_ALLOWANCE_PATTERN + 1];
    const char *at = strrchr(allowance->pattern, '@');
    if (!at)
        return matches_case(allowance->pattern, name);
    (void)snprintf(cases, sizeof cases, "%.*s", (int)(at - allowance->pattern), allowance->pattern);
    return fnmatch(at + 1, backend, 0) == 0 && matches_case(cases, name);
}

static bool matches_fingerprint(const void *one, const char *name, const char *backend)
{
    return hc_allowance_matches(one, name, backend);
}

/* A result or a fingerprint. */
static bool matches_record(const struct hc_allowance *one, const struct hc_record *record)
{
    for (int i = 0; i < record->count; i++)
        if (hc_allowance_matches(one, record->rows[i].name, record->rows[i].backend))
            return true;
    return hc_gate_has_fingerprint(record, matches_fingerprint, one);
}

static bool matches_finding(const struct hc_allowance *one, const struct hc_findings *findings)
{
    for (int i = 0; i < findings->count; i++)
        if (hc_allowance_matches(one, findings->all[i].name, findings->all[i].backend))
            return true;
    return false;
}

enum hc_status hc_allowances_check(const struct hc_allowances *allowances,
                                   const struct hc_record *baseline, const struct hc_record *record,
                                   const struct hc_findings *findings)
{
    for (int i = 0; i < allowances->count; i++) {
        const struct hc_allowance *one = &allowances->all[i];
        if (one->line && !matches_record(one, baseline) && !matches_record(one, record) &&
            !matches_finding(one, findings))
            return hc_fail(HC_INVALID, "%s:%d: the pattern '%s' matches no case of either record",
                           allowances->path, one->line, one->pattern);
    }
    return HC_OK;
}

void hc_allowances_apply(struct hc_allowances *allowances, struct hc_findings *findings)
{
    for (int i = 0; i < findings->count; i++) {
        struct hc_finding *finding = &findings->all[i];
        for (int j = 0; j < allowances->count && !finding->allowed; j++) {
            struct hc_allowance *one = &allowances->all[j];
            if (one->kind != finding->kind ||
                !hc_allowance_matches(one, finding->name, finding->backend))
                continue;
            one->used++;
            if (one->expired)
                finding->expired = one;
            else
                finding->allowed = one;
        }
    }
}

void hc_allowances_free(struct hc_allowances *allowances)
{
    for (int i = 0; i < allowances->count; i++) {
        free(allowances->all[i].pattern);
        free(allowances->all[i].reason);
    }
    free(allowances->all);
    free(allowances->path);
    *allowances = (struct hc_allowances){0};
}

enum { FILE_BYTES = 1 << 20 };

static const char blanks[] = " \t\r";

static enum hc_finding_kind kind_named(const char *name)
{
    int kind = 0;
    while (kind < HC_FINDING_KINDS && strcmp(hc_finding_kinds[kind].name, name) != 0)
        kind++;
    return (enum hc_finding_kind)kind;
}

/* "a, b, c": the kinds that may be allowed. */
static void list_kinds(bool short_form, char *text, size_t bytes)
{
    text[0] = '\0';
    for (int k = 0; k < HC_FINDING_KINDS; k++) {
        size_t used = strlen(text);
        enum hc_findings_group group = hc_finding_kinds[k].group;
        bool may = short_form ? hc_finding_kinds[k].short_form
                              : group == HC_FOUND_WORSE || group == HC_FOUND_NOT_COMPARABLE;
        if (may)
            (void)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                           hc_finding_kinds[k].name);
    }
}

static enum hc_status add_allowance(struct hc_allowances *a, struct hc_allowance one)
{
    struct hc_allowance *all = realloc(a->all, ((size_t)a->count + 1) * sizeof *all);
    a->all = all ? all : a->all;
    if (all && one.pattern && one.reason) {
        all[a->count++] = one;
        return HC_OK;
    }
    free(one.pattern);
    free(one.reason);
    return hc_fail(HC_NO_MEMORY, "gate: no memory for the allowances");
}

enum hc_status hc_allowances_take(struct hc_allowances *allowances, const struct hc_words *kinds)
{
    for (int w = 0; w < kinds->count; w++) {
        char known[200];
        enum hc_finding_kind kind = kind_named(kinds->word[w]);
        list_kinds(true, known, sizeof known);
        if (kind == HC_FINDING_KINDS || !hc_finding_kinds[kind].short_form)
            return hc_fail(
                HC_INVALID, "gate: --allow takes one of %s, not '%s'%s", known, kinds->word[w],
                kind == HC_FINDING_KINDS ? "" : ", which is allowed in a file (--allowances)");
        enum hc_status status = add_allowance(
            allowances, (struct hc_allowance){
                            .pattern = strdup("*"), .kind = kind, .reason = strdup("--allow")});
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

/* Cuts the next word off *line. */
static char *next_word(char **line)
{
    char *word = *line + strspn(*line, blanks);
    char *end = word + strcspn(word, blanks);
    *line = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static enum hc_status parse_line(struct hc_allowances *a, const char *path, int number, char *line,
                                 hc_date today)
{
    char known[200];
    char *pattern = next_word(&line);
    if (pattern[0] == '\0' || pattern[0] == '#')
        return HC_OK;
    const char *kind_name = next_word(&line);
    const char *until = next_word(&line);
    const char *date = next_word(&line);
    char *reason = line + strspn(line, blanks);
    reason[strcspn(reason, "\r")] = '\0';
    enum hc_finding_kind kind = kind_named(kind_name);
    hc_date day = hc_date_read(date);
    list_kinds(false, known, sizeof known);
    if (strlen(pattern) > HC_ALLOWANCE_PATTERN)
        return hc_fail(HC_INVALID, "%s:%d: the pattern has more than %d letters", path, number,
                       HC_ALLOWANCE_PATTERN);
    if (kind == HC_FINDING_KINDS || (hc_finding_kinds[kind].group != HC_FOUND_WORSE &&
                                     hc_finding_kinds[kind].group != HC_FOUND_NOT_COMPARABLE))
        return hc_fail(HC_INVALID, "%s:%d: the kind of finding is one of %s, not '%s'", path,
                       number, known, kind_name);
    if (strcmp(until, "until") != 0)
        return hc_fail(HC_INVALID, "%s:%d: 'until YYYY-MM-DD' must follow the kind, not '%s'", path,
                       number, until);
    if (!day)
        return hc_fail(HC_INVALID, "%s:%d: '%s' is no date YYYY-MM-DD", path, number, date);
    if (!reason[0])
        return hc_fail(HC_INVALID, "%s:%d: the reason is missing", path, number);
    return add_allowance(a, (struct hc_allowance){.pattern = strdup(pattern),
                                                  .kind = kind,
                                                  .until = day,
                                                  .reason = strdup(reason),
                                                  .line = number,
                                                  .expired = day < today});
}

enum hc_status hc_allowances_parse(struct hc_allowances *allowances, const char *path,
                                   const char *text, size_t bytes, hc_date today)
{
    enum hc_status status = HC_OK;
    const char *end = text + bytes;
    free(allowances->path);
    allowances->path = strdup(path);
    if (!allowances->path)
        return hc_fail(HC_NO_MEMORY, "gate: no memory for the allowances");
    if (memchr(text, '\0', bytes))
        return hc_fail(HC_INVALID, "%s: not a file of allowances: it has a byte that is zero",
                       path);
    for (int number = 1; text < end && status == HC_OK; number++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline ? newline : end) - text);
        char *line = strndup(text, length);
        status = line ? parse_line(allowances, path, number, line, today)
                      : hc_fail(HC_NO_MEMORY, "gate: no memory for the allowances");
        free(line);
        text += length + 1;
    }
    return status;
}

/* Adds those of a file. HC_IO; HC_NO_MEMORY; HC_INVALID with a line that says where and what is
   wrong: a date that is none, an unknown kind, no reason. */
static enum hc_status allowances_read(struct hc_allowances *allowances, const char *path,
                                      hc_date today)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return hc_fail(HC_IO, "cannot read %s: %s", path, strerror(errno));
    char *text = malloc(FILE_BYTES + 1);
    size_t bytes = text ? fread(text, 1, FILE_BYTES + 1, file) : 0;
    enum hc_status status = HC_OK;
    if (!text)
        status = hc_fail(HC_NO_MEMORY, "gate: no memory for the allowances");
    else if (ferror(file))
        status = hc_fail(HC_IO, "cannot read %s: %s", path, strerror(errno));
    else if (bytes > FILE_BYTES)
        status = hc_fail(HC_INVALID, "%s: not a file of allowances: it is larger than 1 MiB", path);
    else
        status = hc_allowances_parse(allowances, path, text, bytes, today);
    (void)fclose(file);
    free(text);
    return status;
}

enum hc_status hc_allowances_read_for(struct hc_allowances *allowances, const char *baseline,
                                      const char *file, hc_date today)
{
    char beside[HC_MAX_PATH];
    if (file)
        return allowances_read(allowances, file, today);
    int length = snprintf(beside, sizeof beside, "%s.allow", baseline);
    if (length >= (int)sizeof beside || access(beside, F_OK) != 0)
        return HC_OK;
    return allowances_read(allowances, beside, today);
}

/* The lines of a baseline's tree. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/baseline_parse.h"
#include "check/record/baseline_text.h"
#include "check/record/outcomes.h"
#include "op/text.h"

static const char numbers[] = "0123456789";

/* The next word of *at, which ends at a space, and moves *at behind that; NULL: there is none. */
static char *word(char **at)
{
    char *begin = *at;
    if (!*begin)
        return NULL;
    char *space = strchr(begin, ' ');
    *at = space ? space + 1 : begin + strlen(begin);
    if (space)
        *space = '\0';
    return begin;
}

/* Reads the line's indentation and name, and moves *at behind them. False if it is wrong. */
static bool read_name(struct hc_baseline_parser *p, char **at)
{
    int depth = (int)strspn(*at, " ");
    *at += depth;
    char *name = word(at);
    if (!name || depth > p->depth + 1 || depth >= HC_BASELINE_DEPTH)
        return hc_baseline_wrong(p, "no name, or indented too far");
    if (!hc_baseline_unescape(name))
        return hc_baseline_wrong(p, "a wrong escape in the name");
    size_t from = depth ? p->length[depth - 1] + 1 : 0;
    size_t length = strlen(name);
    if (from + length >= sizeof p->path)
        return hc_baseline_wrong(p, "a name of more than %d bytes", HC_BASELINE_NAME - 1);
    if (depth)
        p->path[from - 1] = '/';
    memcpy(p->path + from, name, length + 1);
    p->length[depth] = from + length;
    p->depth = depth;
    return true;
}

/* Whether it is "0", "inf", "nan", or up to 17 digits, and an exponent if `mantissa` is false. */
static bool is_number(const char *text, bool mantissa)
{
    size_t digits = strspn(text, numbers);
    if (strcmp(text, "0") == 0 || strcmp(text, "inf") == 0 || strcmp(text, "nan") == 0)
        return true;
    if (digits == 0 || digits > 17)
        return false;
    if (mantissa)
        return !text[digits];
    const char *exponent = text + digits + 1;
    exponent += text[digits] == 'e' && *exponent == '-';
    size_t of = text[digits] == 'e' ? strspn(exponent, numbers) : 0;
    return of > 0 && of <= 3 && !exponent[of];
}

/* "error/bound". An empty bound is the one before. */
static bool read_error(struct hc_baseline_parser *p, const char *text, struct hc_row *row,
                       char bound[32])
{
    char error[32];
    const char *slash = strchr(text, '/');
    size_t length = (size_t)(slash - text);
    if (length >= sizeof error - 8 || strlen(slash + 1) >= 24)
        return hc_baseline_wrong(p, "no error and bound: '%.40s'", text);
    memcpy(error, text, length);
    error[length] = '\0';
    if (slash[1])
        (void)snprintf(bound, 32, "%s", slash + 1);
    const char *exponent = strchr(bound, 'e');
    if (!is_number(bound, false) ||
        !(is_number(error, false) || (exponent && is_number(error, true))))
        return hc_baseline_wrong(p, "no error and bound: '%.40s'", text);
    if (!is_number(error, false))
        (void)strncat(error, exponent, 8);
    row->error = strtod(error, NULL);
    row->bound = strtod(bound, NULL);
    return true;
}

/* Item i of a list with commas: its beginning; the last one if there is one alone. Sets *length. */
static const char *item(const char *list, int i, size_t *length)
{
    for (; i > 0 && strchr(list, ','); i--)
        list = strchr(list, ',') + 1;
    *length = strcspn(list, ",");
    return list;
}

static int items(const char *list)
{
    int n = 1;
    for (; *list; list++)
        n += *list == ',';
    return n;
}

/* Sets the row's count, or its digest, to item i of the list. */
static bool read_count(const char *list, int i, struct hc_row *row)
{
    size_t length;
    const char *text = item(list, i, &length);
    row->checked = strtoll(text, NULL, 10);
    return length > 0 && length <= 18 && strspn(text, numbers) == length;
}

static bool read_digest(const char *list, int i, struct hc_row *row)
{
    char text[HC_BASELINE_DIGEST_TEXT] = "";
    size_t length;
    const char *from = item(list, i, &length);
    row->digest_bits = 0;
    row->digest = 0;
    if (length == 1 && *from == '-')
        return true;
    if (length != sizeof text - 1)
        return false;
    memcpy(text, from, length);
    row->digest_bits = HC_BASELINE_DIGEST;
    return hc_baseline_read_digest(text, &row->digest);
}

/* The command that repeats the result, where it is that of a case. */
static void write_repro(const struct hc_baseline_parser *p, const struct hc_row *row, char *text,
                        size_t size)
{
    char name[HC_BASELINE_NAME + 64];
    char backend[512];
    text[0] = '\0';
    if (!p->level)
        return;
    (void)hc_text_shell(name, sizeof name, row->name);
    (void)hc_text_shell(backend, sizeof backend, row->backend);
    int n = snprintf(text, size, "halfcheck run %s", name);
    if (strcmp(row->backend, "-") != 0)
        n += snprintf(text + n, size - (size_t)n, " --backend %s", backend);
    if (strcmp(p->level, "standard") != 0)
        n += snprintf(text + n, size - (size_t)n, " --level %.20s", p->level);
    if (p->seed)
        (void)snprintf(text + n, size - (size_t)n, " --seed %llu", (unsigned long long)p->seed);
}

/* What one entry says. */
struct said {
    const char *letters;
    char *counts;
    const char *digests;
    const char *unit;
};

static bool add_rows(struct hc_baseline_parser *p, const struct said *said, struct hc_row *row)
{
    char repro[2048];
    int n = (int)strlen(said->letters);
    if ((items(said->counts) != 1 && items(said->counts) != n) ||
        (items(said->digests) != 1 && items(said->digests) != n))
        return hc_baseline_wrong(p, "neither one number or digest, nor one for each of '%.26s'",
                                 said->letters);
    row->name = p->path;
    row->unit = said->unit;
    row->seed = hc_outcome_seed(p->path, p->seed);
    row->digits = p->digits;
    for (int i = 0; i < n; i++) {
        row->backend = hc_baseline_letter(p->backends, said->letters[i]);
        if (!row->backend)
            return hc_baseline_wrong(p, "no backend has one of the letters '%.26s'", said->letters);
        if (!read_count(said->counts, i, row) || !read_digest(said->digests, i, row))
            return hc_baseline_wrong(p, "no count or no digest: '%.40s', '%.40s'", said->counts,
                                     said->digests);
        write_repro(p, row, repro, sizeof repro);
        row->repro = repro;
        hc_record_add(p->document, row);
        row->repro = "";
    }
    return true;
}

static enum hc_verdict verdict_of(const char *text)
{
    int v = HC_PASS + 1;
    while (v < HC_VERDICT_COUNT && strcmp(hc_verdict_names[v], text) != 0)
        v++;
    return (enum hc_verdict)v;
}

/* Reads the verdict of what did not pass and the note behind it, to the end of the line. */
static bool read_verdict(struct hc_baseline_parser *p, char **at, struct hc_row *row, json_t **note)
{
    char *space = strchr(*at, ' ');
    if (!space || **at < 'A' || **at > 'Z')
        return true;
    *space = '\0';
    char *wrong = strchr(*at, ':');
    size_t digits = wrong ? strspn(wrong + 1, numbers) : 0;
    bool counted = !wrong || (digits > 0 && digits <= 18 && !wrong[1 + digits]);
    if (wrong && counted)
        row->wrong = strtoll(wrong + 1, NULL, 10);
    if (wrong)
        *wrong = '\0';
    row->verdict = verdict_of(*at);
    *note = json_loads(space + 1, JSON_DECODE_ANY, NULL);
    if (row->verdict == HC_VERDICT_COUNT || !counted || !json_is_string(*note))
        return hc_baseline_wrong(p, "no verdict and note: '%.20s'", *at);
    row->note = json_string_value(*note);
    *at = space + 1 + strlen(space + 1);
    return true;
}

/* Reads an entry, and moves *at behind it. */
static bool read_entry(struct hc_baseline_parser *p, char **at, char bound[32])
{
    struct said said = {.letters = p->usual};
    struct hc_row row = hc_row_claim("", "", HC_PASS, 0, 0, "");
    char *text = word(at);
    json_t *note = NULL;
    if (text && !strchr(numbers, *text)) {
        said.letters = text;
        text = word(at);
    }
    size_t length = text ? strlen(text) : 0;
    said.counts = text;
    said.unit = length > 1 ? hc_baseline_letter(p->units, text[length - 1]) : NULL;
    if (!said.unit || !said.letters[0])
        return hc_baseline_wrong(p, "no backends, count and unit");
    text[length - 1] = '\0';
    text = word(at);
    if (text && strchr(text, '/')) {
        if (!read_error(p, text, &row, bound))
            return false;
        text = word(at);
    } else {
        (void)snprintf(bound, 32, "0");
    }
    said.digests = text ? text : "";
    bool good = read_verdict(p, at, &row, &note) && add_rows(p, &said, &row);
    json_decref(note);
    return good;
}

bool hc_baseline_read_case(struct hc_baseline_parser *p, char *line)
{
    char bound[32] = "";
    if (!read_name(p, &line))
        return false;
    while (*line)
        if (!read_entry(p, &line, bound))
            return false;
    return true;
}

/* Reading baselines. The text may be anything: every line is taken apart word by word. The first
   that is not as baseline.h says ends the reading, and its number is said. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/baseline.h"
#include "check/record/baseline_text.h"
#include "check/record/outcomes.h"
#include "op/text.h"

enum { HC_BASELINE_LETTERS = 128 };

struct hc_baseline_parser {
    const char *name; /* of the file */
    char *at;         /* the rest of the text, in which lines become strings */
    char *end;
    int64_t line; /* its number, from 1 */
    enum hc_status status;
    json_t *document;
    json_t *section; /* whose members are read: the document, or a part of it */
    json_t *results;
    json_t *texts; /* keeps those of the two tables, by letter */
    const json_t *backends[HC_BASELINE_LETTERS];
    const json_t *units[HC_BASELINE_LETTERS];
    char usual[32];
    int digits;
    bool whole; /* the document has results of its own, so that no parts follow */

    /* The results that are read now have these. */
    uint64_t seed;
    const char *level;                /* NULL: none */
    int depth;                        /* of the line before; -1: none */
    size_t length[HC_BASELINE_DEPTH]; /* of the path to each depth, without a slash */
    char path[HC_BASELINE_NAME];
};

/* Ends the reading with those words, unless it has ended already; false. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static bool
baseline_wrong(struct hc_baseline_parser *p, const char *format, ...)
{
    char words[200];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(words, sizeof words, format, arguments);
    va_end(arguments);
    if (p->status == HC_OK)
        p->status = hc_fail(HC_INVALID, "%s: line %lld: %s", p->name, (long long)p->line, words);
    return false;
}

/* The text of a letter, or NULL. */
static const char *baseline_letter(const json_t *const table[], char letter)
{
    unsigned char c = (unsigned char)letter;
    return c < HC_BASELINE_LETTERS ? json_string_value(table[c]) : NULL;
}

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
        return baseline_wrong(p, "no name, or indented too far");
    if (!hc_baseline_unescape(name))
        return baseline_wrong(p, "a wrong escape in the name");
    size_t from = depth ? p->length[depth - 1] + 1 : 0;
    size_t length = strlen(name);
    if (from + length >= sizeof p->path)
        return baseline_wrong(p, "a name of more than %d bytes", HC_BASELINE_NAME - 1);
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
        return baseline_wrong(p, "no error and bound: '%.40s'", text);
    memcpy(error, text, length);
    error[length] = '\0';
    if (slash[1])
        (void)snprintf(bound, 32, "%s", slash + 1);
    const char *exponent = strchr(bound, 'e');
    if (!is_number(bound, false) ||
        !(is_number(error, false) || (exponent && is_number(error, true))))
        return baseline_wrong(p, "no error and bound: '%.40s'", text);
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

static bool read_sight(const char *list, int i, struct hc_row *row)
{
    size_t length;
    const char *from = item(list, i, &length);
    return hc_baseline_read_sight(from, length, row);
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
    const char *sights; /* NULL: MPFR judged nothing, or an older baseline does not say what */
    const char *digests;
    const char *unit;
};

static bool add_rows(struct hc_baseline_parser *p, const struct said *said, struct hc_row *row)
{
    char repro[2048];
    int n = (int)strlen(said->letters);
    if ((items(said->counts) != 1 && items(said->counts) != n) ||
        (said->sights && items(said->sights) != 1 && items(said->sights) != n) ||
        (items(said->digests) != 1 && items(said->digests) != n))
        return baseline_wrong(p, "neither one number or digest, nor one for each of '%.26s'",
                              said->letters);
    row->name = p->path;
    row->unit = said->unit;
    row->seed = hc_outcome_seed(p->path, p->seed);
    row->digits = p->digits;
    for (int i = 0; i < n; i++) {
        row->backend = baseline_letter(p->backends, said->letters[i]);
        if (!row->backend)
            return baseline_wrong(p, "no backend has one of the letters '%.26s'", said->letters);
        if (!read_count(said->counts, i, row) || !read_digest(said->digests, i, row))
            return baseline_wrong(p, "no count or no digest: '%.40s', '%.40s'", said->counts,
                                  said->digests);
        if (said->sights && !read_sight(said->sights, i, row))
            return baseline_wrong(p, "no counts of elements: '%.40s'", said->sights);
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
        return baseline_wrong(p, "no verdict and note: '%.20s'", *at);
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
    said.unit = length > 1 ? baseline_letter(p->units, text[length - 1]) : NULL;
    if (!said.unit || !said.letters[0])
        return baseline_wrong(p, "no backends, count and unit");
    text[length - 1] = '\0';
    text = word(at);
    if (text && *text == '@') {
        said.sights = text + 1;
        text = word(at);
    }
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

/* Reads the line of a folder or of a case, and adds its results; false if it is wrong. */
static bool baseline_read_case(struct hc_baseline_parser *p, char *line)
{
    char bound[32] = "";
    if (!read_name(p, &line))
        return false;
    while (*line)
        if (!read_entry(p, &line, bound))
            return false;
    return true;
}

/* The next line, without its newline; NULL behind the last one. */
static char *next_line(struct hc_baseline_parser *p)
{
    char *line = p->at;
    if (p->status != HC_OK || p->at == p->end)
        return NULL;
    p->line++;
    char *newline = memchr(line, '\n', (size_t)(p->end - line));
    if (!newline) {
        (void)baseline_wrong(p, "it has no end: the file was cut short");
        return NULL;
    }
    if (memchr(line, '\0', (size_t)(newline - line)) || (newline > line && newline[-1] == '\r')) {
        (void)baseline_wrong(p, "it has a byte that no baseline has");
        return NULL;
    }
    *newline = '\0';
    p->at = newline + 1;
    return line;
}

/* What stands behind the word and a space, if the line begins with it; or NULL. */
static char *behind(char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static long long count_of(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 10 && !text[digits] ? strtoll(text, NULL, 10) : -1;
}

/* "e \"exact\"" */
static bool read_letter(struct hc_baseline_parser *p, const char *text, const json_t *table[])
{
    unsigned char letter = (unsigned char)text[0];
    bool plain = (letter >= 'a' && letter <= 'z') || letter == '-';
    json_t *name = plain && text[1] == ' ' ? json_loads(text + 2, JSON_DECODE_ANY, NULL) : NULL;
    if (json_is_string(name) && !table[letter]) {
        table[letter] = name;
        (void)json_array_append(p->texts, name); /* keeps it */
        json_decref(name);
        return true;
    }
    json_decref(name);
    return baseline_wrong(p, "no letter and name, or a letter that is taken");
}

static bool read_usual(struct hc_baseline_parser *p, const char *letters)
{
    size_t length = strlen(letters);
    bool known = length > 0 && length < sizeof p->usual;
    for (size_t i = 0; i < length && known; i++)
        known = baseline_letter(p->backends, letters[i]) != NULL;
    if (!known || p->usual[0])
        return baseline_wrong(p, "letters of no backends");
    memcpy(p->usual, letters, length + 1);
    return true;
}

/* A line of the head, before any member. False if it is none, or wrong. */
static bool read_head(struct hc_baseline_parser *p, char *line)
{
    char *text;
    if ((text = behind(line, "backend")) != NULL)
        return read_letter(p, text, p->backends);
    if ((text = behind(line, "unit")) != NULL)
        return read_letter(p, text, p->units);
    if ((text = behind(line, "usual")) != NULL)
        return read_usual(p, text);
    if ((text = behind(line, "digits")) == NULL)
        return false;
    p->digits = (int)count_of(text);
    if (p->digits < 1 || p->digits > 17)
        return baseline_wrong(p, "digits are a number from 1 to 17");
    return true;
}

/* Begins a part of a merged record. */
static bool begin_part(struct hc_baseline_parser *p, const char *text)
{
    json_t *name = json_loads(text, JSON_DECODE_ANY, NULL);
    json_t *parts = json_object_get(p->document, "parts");
    if (!json_is_string(name) || p->whole) {
        json_decref(name);
        return baseline_wrong(p, "a part has a name, and no results stand before the first");
    }
    if (!parts) {
        (void)json_object_set_new(p->document, "parts", json_array());
        parts = json_object_get(p->document, "parts");
    }
    p->section = json_object();
    (void)json_object_set_new(p->section, "name", name);
    (void)json_array_append_new(parts, p->section);
    return true;
}

static const char *text_in(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The results of the section that was read last. */
static bool read_results(struct hc_baseline_parser *p, const char *text)
{
    const json_t *run = json_object_get(p->section, "run");
    const char *seed = text_in(run, "seed");
    long long count = count_of(text);
    bool first = !json_object_get(p->section, "result_count") && !p->whole;
    if (count < 0 || !seed || !first)
        return baseline_wrong(
            p, "results are counted, once for each part, and have a run.seed above them");
    p->seed = strtoull(seed, NULL, 10);
    p->level = text_in(run, "level");
    p->depth = -1;
    if (p->section == p->document)
        p->whole = true;
    else
        (void)json_object_set_new(p->section, "result_count", json_integer(count));
    size_t before = json_array_size(p->results);
    while (p->status == HC_OK && p->at != p->end) {
        char *here = p->at;
        if (strncmp(here, "end ", 4) == 0 || strncmp(here, "part ", 5) == 0)
            break;
        char *line = next_line(p);
        if (line)
            (void)baseline_read_case(p, line);
    }
    if (p->status == HC_OK && json_array_size(p->results) - before != (size_t)count)
        return baseline_wrong(p, "%lld results were to stand above, and %zu do", count,
                              json_array_size(p->results) - before);
    return p->status == HC_OK;
}

/* Everything behind the first line. */
static void read_lines(struct hc_baseline_parser *p)
{
    bool head = true;
    bool ended = false;
    for (char *line; !ended && (line = next_line(p)) != NULL;) {
        char *text;
        if (head && read_head(p, line))
            continue;
        head = false;
        if (p->status != HC_OK)
            return;
        if ((text = behind(line, "part")) != NULL)
            (void)begin_part(p, text);
        else if ((text = behind(line, "results")) != NULL)
            (void)read_results(p, text);
        else if ((text = behind(line, "end")) != NULL) {
            ended = count_of(text) == (long long)json_array_size(p->results);
            if (!ended)
                (void)baseline_wrong(p, "%zu results stand above", json_array_size(p->results));
        } else {
            const char *wrong = NULL;
            if (!hc_outcomes_take_line(p->document, line, &wrong))
                wrong = hc_baseline_read_member(p->section, line);
            if (wrong)
                (void)baseline_wrong(p, "%s", wrong);
        }
    }
    if (p->status == HC_OK && !ended)
        (void)baseline_wrong(p, "no end: the file was cut short");
    if (p->status == HC_OK && p->at != p->end)
        (void)baseline_wrong(p, "something stands behind the end");
}

static void read_all(struct hc_baseline_parser *p)
{
    char *line = next_line(p);
    const char *version = line ? line + strlen(HC_BASELINE_MAGIC) : "";
    long long number = line ? count_of(version) : 0;
    if (line && (number < 1 || number > HC_BASELINE_VERSION))
        (void)baseline_wrong(
            p, "a baseline of version '%.20s'; this halfcheck reads versions 1 and %d", version,
            HC_BASELINE_VERSION);
    if (line && p->status == HC_OK)
        read_lines(p);
}

bool hc_baseline_begins(const char *text, size_t bytes)
{
    size_t length = strlen(HC_BASELINE_MAGIC);
    return bytes >= length && memcmp(text, HC_BASELINE_MAGIC, length) == 0;
}

enum hc_status hc_baseline_parse(const char *name, const char *text, size_t bytes,
                                 json_t **document)
{
    char *copy = malloc(bytes + 1);
    struct hc_baseline_parser *p = calloc(1, sizeof *p);
    enum hc_status status = HC_OK;
    *document = NULL;
    if (!copy || !p)
        status = hc_fail(HC_NO_MEMORY, "no memory for the baseline %s", name);
    else if (!hc_baseline_begins(text, bytes))
        status = hc_fail(HC_INVALID, "%s: not a baseline", name);
    else {
        memcpy(copy, text, bytes);
        *p = (struct hc_baseline_parser){.name = name, .at = copy, .end = copy + bytes};
        p->texts = json_array();
        p->document = json_pack("{s:i, s:[]}", "schema", HC_RECORD_SCHEMA, "results");
        p->section = p->document;
        p->results = json_object_get(p->document, "results");
        if (!p->texts || !p->document)
            p->status = hc_fail(HC_NO_MEMORY, "no memory for the baseline %s", name);
        else
            read_all(p);
        status = p->status;
        json_decref(p->texts);
        if (status == HC_OK)
            *document = p->document;
        else
            json_decref(p->document);
    }
    free(copy);
    free(p);
    return status;
}

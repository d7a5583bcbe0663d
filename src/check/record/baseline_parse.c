/* Reading baselines. The text may be anything: every line is taken apart word by word. The first
   that is not as baseline.h says ends the reading, and its number is said. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/baseline.h"
#include "check/record/baseline_parse.h"
#include "check/record/baseline_text.h"
#include "check/record/outcomes.h"
#include "op/text.h"

bool hc_baseline_wrong(struct hc_baseline_parser *p, const char *format, ...)
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

/* The next line, without its newline; NULL behind the last one. */
static char *next_line(struct hc_baseline_parser *p)
{
    char *line = p->at;
    if (p->status != HC_OK || p->at == p->end)
        return NULL;
    p->line++;
    char *newline = memchr(line, '\n', (size_t)(p->end - line));
    if (!newline) {
        (void)hc_baseline_wrong(p, "it has no end: the file was cut short");
        return NULL;
    }
    if (memchr(line, '\0', (size_t)(newline - line)) || (newline > line && newline[-1] == '\r')) {
        (void)hc_baseline_wrong(p, "it has a byte that no baseline has");
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

const char *hc_baseline_letter(const json_t *const table[], char letter)
{
    unsigned char c = (unsigned char)letter;
    return c < HC_BASELINE_LETTERS ? json_string_value(table[c]) : NULL;
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
    return hc_baseline_wrong(p, "no letter and name, or a letter that is taken");
}

static bool read_usual(struct hc_baseline_parser *p, const char *letters)
{
    size_t length = strlen(letters);
    bool known = length > 0 && length < sizeof p->usual;
    for (size_t i = 0; i < length && known; i++)
        known = hc_baseline_letter(p->backends, letters[i]) != NULL;
    if (!known || p->usual[0])
        return hc_baseline_wrong(p, "letters of no backends");
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
        return hc_baseline_wrong(p, "digits are a number from 1 to 17");
    return true;
}

/* Begins a part of a merged record. */
static bool begin_part(struct hc_baseline_parser *p, const char *text)
{
    json_t *name = json_loads(text, JSON_DECODE_ANY, NULL);
    json_t *parts = json_object_get(p->document, "parts");
    if (!json_is_string(name) || p->whole) {
        json_decref(name);
        return hc_baseline_wrong(p, "a part has a name, and no results stand before the first");
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
        return hc_baseline_wrong(
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
            (void)hc_baseline_read_case(p, line);
    }
    if (p->status == HC_OK && json_array_size(p->results) - before != (size_t)count)
        return hc_baseline_wrong(p, "%lld results were to stand above, and %zu do", count,
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
                (void)hc_baseline_wrong(p, "%zu results stand above", json_array_size(p->results));
        } else {
            const char *wrong = NULL;
            if (!hc_outcomes_take_line(p->document, line, &wrong))
                wrong = hc_baseline_read_member(p->section, line);
            if (wrong)
                (void)hc_baseline_wrong(p, "%s", wrong);
        }
    }
    if (p->status == HC_OK && !ended)
        (void)hc_baseline_wrong(p, "no end: the file was cut short");
    if (p->status == HC_OK && p->at != p->end)
        (void)hc_baseline_wrong(p, "something stands behind the end");
}

static void read_all(struct hc_baseline_parser *p)
{
    char *line = next_line(p);
    const char *version = line ? line + strlen(HC_BASELINE_MAGIC) : "";
    if (line && count_of(version) != HC_BASELINE_VERSION)
        (void)hc_baseline_wrong(p, "a baseline of version '%.20s'; this halfcheck reads version %d",
                                version, HC_BASELINE_VERSION);
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

#include "cli/report/template.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "op/memory_stream.h"
#include "op/text.h"

enum { MOST_SCOPES = 16, LONGEST_NAME = 64, LONGEST_PRINTED = 4096 };

json_t *hc_page_list(json_t *object, const char *name)
{
    json_t *list = json_array();
    return json_object_set_new(object, name, list) == 0 ? list : NULL;
}

json_t *hc_page_add(json_t *list)
{
    json_t *object = json_object();
    return json_array_append_new(list, object) == 0 ? object : NULL;
}

/* Bytes that are no UTF-8 become U+FFFD. */
static json_t *string_of(const char *text)
{
    json_t *string = json_string(text);
    size_t size = 3 * strlen(text) + 1;
    char *clean = string ? NULL : malloc(size);
    if (string)
        return string;
    if (!clean)
        hc_memory_lost_one();
    else {
        hc_text_plain(clean, size, text);
        string = json_string(clean);
    }
    free(clean);
    return string;
}

void hc_page_append(json_t *list, const char *text)
{
    (void)json_array_append_new(list, string_of(text));
}

void hc_page_text(json_t *object, const char *name, const char *text)
{
    if (text)
        (void)json_object_set_new(object, name, string_of(text));
}

void hc_page_number(json_t *object, const char *name, long long number)
{
    (void)json_object_set_new(object, name, json_integer(number));
}

void hc_page_flag(json_t *object, const char *name, bool flag)
{
    (void)json_object_set_new(object, name, json_boolean(flag));
}

void hc_page_print(json_t *object, const char *name, const char *format, ...)
{
    char text[LONGEST_PRINTED];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    hc_page_text(object, name, text);
}

/* Markup is told from text by standing in an object of its own. */
void hc_page_markup(json_t *object, const char *name, const char *markup)
{
    (void)json_object_set_new(object, name, json_pack("{s:s}", "markup", markup));
}

const char *hc_page_count(long long count, char text[HC_LONGEST_COUNT])
{
    char digits[HC_LONGEST_COUNT];
    int n = snprintf(digits, sizeof digits, "%lld", count);
    char *at = text;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-')
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

/* A template while it is filled in. */
struct filling {
    FILE *out;
    bool markdown;
    bool silent;     /* this part is left out */
    bool wrote;      /* something of this line */
    bool directed;   /* this line has a comment */
    const char *at;  /* what comes next */
    const char *way; /* of the value that is being written */
    const json_t *scope[MOST_SCOPES];
    int scopes;
};

static const json_t *find(const struct filling *f, const char *name)
{
    if (strcmp(name, ".") == 0)
        return f->scope[f->scopes - 1];
    for (int s = f->scopes - 1; s >= 0; s--) {
        const json_t *value = json_object_get(f->scope[s], name);
        if (value)
            return value;
    }
    return NULL;
}

/* Every character that could mean something to Markdown gets a backslash before it. The three that
   begin HTML become entities. */
static void put_text(struct filling *f, const char *text)
{
    char character[5];
    if (!f->markdown)
        hc_text_markup(f->out, text);
    while (f->markdown && hc_text_next(&text, character) > 0)
        if (strchr("<>&", *character))
            hc_text_markup(f->out, character);
        else
            (void)fprintf(f->out, "%s%s", strchr("\\`*_{}[]#|~@$", *character) ? "\\" : "",
                          character);
}

/* The length of an address at the beginning of the text; 0 if there is none. A full stop or bracket
   at its end belongs to the sentence. */
static size_t address_length(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    size_t length = scheme ? strcspn(text, " \t\n,;<>\"'`{}|\\^") : 0;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
            length = i;
    while (length > scheme && strchr(".:!?)]", text[length - 1]))
        length--;
    return length > scheme ? length : 0;
}

/* Addresses become links: they have none of the characters that would end them in Markdown. */
static void put_links(struct filling *f, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        hc_memory_lost_one();
    for (char *at = copy; at && *at;) {
        char *address = at;
        while (*address && !address_length(address))
            address++;
        size_t length = address_length(address);
        char *next = address + length;
        char first = *address;
        *address = '\0';
        put_text(f, at);
        *address = first;
        first = *next;
        *next = '\0';
        if (length && f->markdown)
            (void)fprintf(f->out, "<%s>", address);
        else if (length) {
            (void)fputs("<a href=\"", f->out);
            hc_text_markup(f->out, address);
            (void)fputs("\">", f->out);
            hc_text_markup(f->out, address);
            (void)fputs("</a>", f->out);
        }
        *next = first;
        at = next;
    }
    free(copy);
}

/* Writes so many backquotes as are more than the longest run of them in the text, and at least
   `least`. */
static void put_backquotes(FILE *out, const char *text, size_t least)
{
    size_t longest = 0;
    for (size_t n; *text; text += n + (n == 0)) {
        n = strspn(text, "`");
        longest = n > longest ? n : longest;
    }
    for (size_t i = 0; i < least || i <= longest; i++)
        (void)fputc('`', out);
}

/* Lines stay lines, and tabs stay tabs, since a reader copies columns: what stands in <pre>, or a
   block of code in Markdown. */
static void put_lines(struct filling *f, const char *text)
{
    char character[5] = "";
    const char *whole = text;
    if (f->markdown) {
        put_backquotes(f->out, whole, 3);
        (void)fputs("text\n", f->out);
    }
    while (*text) {
        if (*text == '\n' || *text == '\t')
            (void)snprintf(character, sizeof character, "%c", *text++);
        else if (hc_text_next(&text, character) > 0 && !f->markdown) {
            hc_text_markup(f->out, character);
            continue;
        }
        (void)fputs(character, f->out);
    }
    if (*character != '\n')
        (void)fputc('\n', f->out);
    if (f->markdown)
        put_backquotes(f->out, whole, 3);
}

/* A command, as lines. A browser would break a line behind any hyphen, in the middle of an option:
   a word with a hyphen is an element that stays whole where a line has room for it. */
static void put_command(struct filling *f, const char *text)
{
    if (f->markdown) {
        put_lines(f, text);
        return;
    }
    while (*text) {
        char *word = strndup(text, strcspn(text, " \t\n"));
        if (!word) {
            hc_memory_lost_one();
            return;
        }
        bool whole = strchr(word, '-') != NULL;
        (void)fputs(whole ? "<span>" : "", f->out);
        hc_text_markup(f->out, word);
        (void)fputs(whole ? "</span>" : "", f->out);
        for (text += strlen(word); *text && strchr(" \t\n", *text); text++)
            (void)fputc(*text, f->out);
        free(word);
    }
}

/* Code within a line of Markdown; in a cell of a table ("cell") a bar has a backslash, and there
   may be nothing. */
static void put_code(struct filling *f, const char *text)
{
    char character[5];
    const char *whole = text;
    bool cell = strcmp(f->way, "cell") == 0;
    const char *space = strchr(text, '`') || !*text ? " " : "";
    if (cell && !*text)
        return;
    put_backquotes(f->out, whole, 1);
    (void)fputs(space, f->out);
    while (hc_text_next(&text, character) > 0)
        (void)fprintf(f->out, "%s%s", cell && *character == '|' ? "\\" : "", character);
    (void)fputs(space, f->out);
    put_backquotes(f->out, whole, 1);
}

static void put_count(struct filling *f, const char *text)
{
    char count[HC_LONGEST_COUNT];
    (void)fputs(hc_page_count(strtoll(text, NULL, 10), count), f->out);
}

/* An attribute of HTML that has no value, such as `open` in <details {{open|flag}}>. */
static void put_flag(struct filling *f, const char *text)
{
    if (*text)
        (void)fprintf(f->out, "%s=\"%s\"", text, text);
}

static const struct way {
    const char *name;
    void (*put)(struct filling *f, const char *text);
} ways[] = {{"", put_text},     {"links", put_links},    {"lines", put_lines},
            {"code", put_code}, {"cell", put_code},      {"count", put_count},
            {"flag", put_flag}, {"command", put_command}};

/* {{name}} or {{name|way}}. */
static void put_value(struct filling *f)
{
    char name[LONGEST_NAME];
    char number[32];
    const char *end = strstr(f->at, "}}");
    assert(end && end - f->at < LONGEST_NAME);
    (void)snprintf(name, sizeof name, "%.*s", (int)(end - f->at - 2), f->at + 2);
    f->at = end + 2;
    if (f->silent)
        return;
    char *bar = strchr(name, '|');
    const struct way *way = ways;
    for (; bar && strcmp(way->name, bar + 1) != 0; way++)
        assert(way + 1 < ways + sizeof ways / sizeof *ways);
    if (bar)
        *bar = '\0';
    const json_t *value = find(f, name);
    assert(json_is_string(value) || json_is_integer(value) || json_is_boolean(value));
    const char *text = json_is_true(value) ? name : "";
    if (json_is_integer(value)) {
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        text = number;
    } else if (json_is_string(value))
        text = json_string_value(value);
    f->way = way->name;
    f->wrote = true;
    way->put(f, text);
}

enum word { COMMENT, EACH, BETWEEN, IF, ELSE, MARKUP, END, WORDS };

/* Reads the comment that comes next. */
static enum word read_comment(struct filling *f, char name[LONGEST_NAME])
{
    static const char *const words[WORDS] = {"", "each", "between", "if", "else", "markup", "end"};
    char first[LONGEST_NAME] = "";
    const char *end = strstr(f->at, "-->");
    assert(end);
    *name = '\0';
    (void)sscanf(f->at, "<!-- %63s %63s", first, name);
    f->at = end + 3;
    f->directed = true;
    for (enum word w = EACH; w < WORDS; w++)
        if (strcmp(first, words[w]) == 0)
            return w;
    return COMMENT;
}

static void put_character(struct filling *f)
{
    char next = *f->at++;
    if (!f->silent && (next != '\n' || f->wrote || !f->directed))
        (void)fputc(next, f->out);
    if (next == '\n' && !f->silent)
        f->wrote = false;
    else if (!f->silent)
        f->wrote = true;
    if (next == '\n') {
        f->directed = false;
        f->at += f->markdown ? 0 : strspn(f->at, " ");
    }
}

static bool holds(const json_t *value)
{
    if (json_is_string(value))
        return *json_string_value(value) != '\0';
    if (json_is_integer(value))
        return json_integer_value(value) != 0;
    return json_is_true(value) || json_array_size(value) > 0 || json_object_size(value) > 0;
}

static void fill_section(struct filling *f, enum word word, const char *name);

/* Fills in what stands up to the next comment that ends or parts a section, which is returned; END
   at the end of the template. */
static enum word fill(struct filling *f, bool wanted)
{
    char name[LONGEST_NAME];
    enum word word = COMMENT;
    bool silent = f->silent;
    f->silent |= !wanted;
    while (*f->at && word == COMMENT) {
        if (strncmp(f->at, "{{", 2) == 0)
            put_value(f);
        else if (strncmp(f->at, "<!--", 4) != 0)
            put_character(f);
        else {
            word = read_comment(f, name);
            if (word == EACH || word == IF || word == MARKUP) {
                fill_section(f, word, name);
                word = COMMENT;
            }
        }
    }
    f->silent = silent;
    return *f->at || word != COMMENT ? word : END;
}

static void fill_section(struct filling *f, enum word word, const char *name)
{
    const json_t *value = f->silent ? NULL : find(f, name);
    size_t n = word == EACH ? json_array_size(value) : 0;
    const char *body = f->at;
    enum word end = END;
    if (word != EACH) {
        bool wanted = word == IF && holds(value);
        const char *markup = json_string_value(json_object_get(value, "markup"));
        assert(word == IF || f->silent || markup);
        if (word == MARKUP && markup) {
            (void)fputs(markup, f->out);
            f->wrote = true;
        }
        end = fill(f, wanted);
        n = wanted || word == MARKUP;
    } else {
        assert(f->scopes < MOST_SCOPES);
        for (size_t i = 0; i < n || i == 0; i++) {
            f->at = body;
            f->scope[f->scopes++] = json_array_get(value, i);
            end = fill(f, n > 0);
            if (end == BETWEEN)
                end = fill(f, i + 1 < n);
            f->scopes--;
        }
    }
    if (end == ELSE)
        end = fill(f, n == 0);
    assert(end == END);
}

void hc_template_fill(FILE *out, const char *text, bool markdown, const json_t *data)
{
    struct filling f = {.out = out, .markdown = markdown, .at = text, .scope = {data}, .scopes = 1};
    enum word end = fill(&f, true);
    assert(end == END && !*f.at);
    (void)end;
}

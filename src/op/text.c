/* Texts: their characters (text.h), what people type (typed.h), and lines of a terminal's width
   (wrap.h). */
#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "op/text.h"
#include "op/memory_stream.h"
#include "op/typed.h"
#include "op/wrap.h"

/* The length of a UTF-8 character of two bytes or more, and its code point. By RFC 3629 the
   encoding is the shortest one, and the code point is no surrogate and at most U+10FFFF. 0 if the
   bytes are no such character. */
static size_t decode(const unsigned char *at, uint32_t *number)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    if (*at < 0xc0 || *at > 0xf4)
        return 0;
    *number = *at & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0u) != 0x80)
            return 0;
        *number = *number << 6 | (at[i] & 0x3fu);
    }
    bool sound = *number >= least[length] && *number <= 0x10ffff && *number >> 11 != 0x1b;
    return sound ? length : 0;
}

/* What is printed instead of a character, or NULL if it may stay: U+0080 to U+009F are control
   characters, U+2028 and U+2029 separate lines, U+202A to U+202E and U+2066 to U+2069 turn the
   direction of what follows, so that a line reads as another one, and XML 1.0 excludes U+FFFE and
   U+FFFF. */
static const char *replacement(uint32_t number)
{
    bool turns = (number >= 0x202a && number <= 0x202e) || (number >= 0x2066 && number <= 0x2069);
    if (number < 0xa0 || number == 0x2028 || number == 0x2029 || turns)
        return " ";
    return number == 0xfffe || number == 0xffff ? "\xef\xbf\xbd" : NULL;
}

size_t hc_text_next(const char **text, char character[5])
{
    const char *from = *text;
    uint32_t number = 0;
    size_t length = 1;
    const char *instead = NULL;
    if (*from == '\0')
        return 0;
    if ((unsigned char)*from < 0x80)
        instead = iscntrl((unsigned char)*from) ? " " : NULL;
    else {
        length = decode((const unsigned char *)from, &number);
        instead = length ? replacement(number) : "\xef\xbf\xbd";
    }
    *text += length ? length : 1;
    if (instead) {
        from = instead;
        length = strlen(instead);
    }
    memcpy(character, from, length);
    character[length] = '\0';
    return length;
}

/* Turns "-nan" into "nan". In a column, which has two spaces before or behind it, the width is
   kept. */
static void drop_signs(char *text)
{
    for (char *at = text; (at = strstr(at, "-nan")) != NULL; at++) {
        if (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            continue;
        if (at > text + 1 && at[-1] == ' ' && at[-2] == ' ') {
            *at = ' ';
            continue;
        }
        bool column = at[4] == ' ' && at[5] == ' ';
        memmove(at, at + 1, column ? 3 : strlen(at));
        if (column)
            at[3] = ' ';
    }
}

int hc_text_format(char *text, size_t size, const char *format, va_list arguments)
{
    int length = vsnprintf(text, size, format, arguments);
    if (size > 0)
        drop_signs(text);
    return length;
}

int hc_text_write(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = hc_text_format(text, size, format, arguments);
    va_end(arguments);
    return length;
}

static void put_escaped(const char *text, FILE *out)
{
    hc_text_line(out, text);
}

static void put_as_it_is(const char *text, FILE *out)
{
    (void)fputs(text, out);
}

static void print_with(void (*put)(const char *text, FILE *out), FILE *out, const char *format,
                       va_list arguments)
{
    char line[1024];
    char *text = line;
    va_list again;
    va_copy(again, arguments);
    int length = hc_text_format(line, sizeof line, format, arguments);
    if (length >= (int)sizeof line && (text = malloc((size_t)length + 1)) != NULL)
        (void)hc_text_format(text, (size_t)length + 1, format, again);
    if (!text)
        hc_memory_lost_one();
    va_end(again);
    put(text ? text : line, out);
    if (text != line)
        free(text);
}

void hc_vprint(FILE *out, const char *format, va_list arguments)
{
    print_with(put_as_it_is, out, format, arguments);
}

void hc_vprint_text(FILE *out, const char *format, va_list arguments)
{
    print_with(put_escaped, out, format, arguments);
}

void hc_print_line(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hc_vprint_text(out, format, arguments);
    va_end(arguments);
    (void)fputc('\n', out);
}

void hc_print(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hc_vprint(out, format, arguments);
    va_end(arguments);
}

bool hc_text_shell(char *word, size_t size, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=./,:@%";
    bool quoted = *text == '\0' || text[strspn(text, plain)] != '\0';
    size_t used = (size_t)snprintf(word, size, "%s", quoted ? "'" : "");
    for (; *text && used < size; text++)
        used += (size_t)snprintf(word + used, size - used, *text == '\'' ? "'\\''" : "%c", *text);
    if (used < size)
        used += (size_t)snprintf(word + used, size - used, "%s", quoted ? "'" : "");
    return used < size;
}

void hc_text_plain(char *line, size_t size, const char *text)
{
    char character[5];
    size_t used = 0;
    for (size_t n; (n = hc_text_next(&text, character)) > 0 && used + n < size; used += n)
        memcpy(line + used, character, n);
    line[used] = '\0';
}

void hc_text_line(FILE *out, const char *text)
{
    char character[5];
    while (hc_text_next(&text, character) > 0)
        (void)fputs(character, out);
}

void hc_text_markup(FILE *out, const char *text)
{
    static const char special[] = "<>&\"'";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    char character[5];
    while (hc_text_next(&text, character) > 0) {
        const char *at = strchr(special, *character);
        (void)fputs(at ? entities[at - special] : character, out);
    }
}

enum { SHORTEST_START = 3 };

enum hc_status hc_list_next(const char *what, const char *list, const char **at,
                            const char **element, size_t *length)
{
    const char *start = *at + strspn(*at, " \t");
    size_t n = strcspn(start, ",");
    *at = start[n] == ',' ? start + n + 1 : NULL;
    while (n > 0 && (start[n - 1] == ' ' || start[n - 1] == '\t'))
        n--;
    *element = start;
    *length = n;
    return n > 0 ? HC_OK : hc_fail(HC_INVALID, "%s '%s': an element is empty", what, list);
}

struct hc_nearest hc_nearest_to(const char *typed, size_t length)
{
    struct hc_nearest nearest = {.distance = INT_MAX};
    if (length <= HC_LONGEST_NAME)
        memcpy(nearest.typed, typed, length);
    return nearest;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* By dynamic programming over the rows of the table d[i][j], the distance of the first i letters of
   a to the first j of b (optimal string alignment). */
static int distance(const char *a, const char *b)
{
    int rows[3][HC_LONGEST_NAME + 1];
    int *before = rows[0];
    int *last = rows[1];
    int *now = rows[2];
    int n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        last[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            now[j] = least(least(now[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        int *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[n];
}

void hc_nearest_try(struct hc_nearest *nearest, const char *name)
{
    size_t length = strlen(nearest->typed);
    if (length == 0 || strlen(name) > HC_LONGEST_NAME)
        return;
    int d = distance(nearest->typed, name);
    if (length >= SHORTEST_START && strncmp(name, nearest->typed, length) == 0)
        d = least(d, 1);
    if (d >= nearest->distance)
        return;
    nearest->distance = d;
    (void)snprintf(nearest->best, sizeof nearest->best, "%s", name);
}

void hc_nearest_take(struct hc_nearest *nearest, const char *name)
{
    nearest->distance = 0;
    (void)snprintf(nearest->best, sizeof nearest->best, "%s", name);
}

const char *hc_nearest_hint(struct hc_nearest *nearest)
{
    int near = ((int)strlen(nearest->typed) + 2) / 4;
    nearest->hint[0] = '\0';
    if (nearest->distance <= (near ? near : 1) && nearest->best[0])
        (void)snprintf(nearest->hint, sizeof nearest->hint, "; did you mean '%s'?", nearest->best);
    return nearest->hint;
}

/* The place of the output. */
struct cursor {
    FILE *out;
    int column; /* -1: before the indentation */
    int indent;
    int columns;
    bool words; /* this line has some already */
};

static void end_line(struct cursor *at)
{
    if (at->words)
        (void)fputc('\n', at->out);
    at->words = false;
    at->column = -1;
}

static void put_words(struct cursor *at, const char *line, int length)
{
    for (int n = 0; length > 0; line += n, length -= n) {
        n = (int)strspn(line, " ");
        line += n;
        length -= n;
        n = (int)strcspn(line, " \n");
        if (at->words && at->column + 1 + n >= at->columns)
            end_line(at);
        if (at->column < 0)
            at->column = fprintf(at->out, "%*s", at->indent, "");
        at->column += fprintf(at->out, "%s%.*s", at->words ? " " : "", n, line);
        at->words = true;
    }
}

int hc_terminal_columns(FILE *out, int otherwise)
{
    enum { LEAST = 20 };
    struct winsize size;
    if (isatty(fileno(out)) != 1)
        return otherwise;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return otherwise;
    return size.ws_col < LEAST ? LEAST : size.ws_col;
}

void hc_print_wrapped(FILE *out, int column, int indent, const char *text)
{
    int columns = hc_terminal_columns(out, HC_COLUMNS);
    hc_print_narrow(out, columns < HC_COLUMNS ? columns : HC_COLUMNS, column, indent, text);
}

void hc_print_narrow(FILE *out, int columns, int column, int indent, const char *text)
{
    struct cursor at = {.out = out, .column = column, .indent = indent, .columns = columns};
    while (*text) {
        int length = (int)strcspn(text, "\n");
        if (length > 0 && *text != ' ') {
            put_words(&at, text, length);
        } else {
            end_line(&at);
            (void)fprintf(out, "%*s%.*s\n", length ? indent : 0, "", length, text);
        }
        text += length + (text[length] == '\n');
    }
    end_line(&at);
}

/* Where the word of a command ends, as the shell reads it. */
static const char *end_of_word(const char *word)
{
    bool quoted = false;
    for (; *word && (*word != ' ' || quoted); word++)
        if (*word == '\\' && !quoted && word[1])
            word++;
        else if (*word == '\'')
            quoted = !quoted;
    return word;
}

int hc_print_command(FILE *out, int column, int indent, const char *command)
{
    bool first = true; /* of its line */
    for (const char *end; *command; command = end + strspn(end, " ")) {
        end = end_of_word(command);
        if (*command == '-' && *end && strncmp(end + 1, "--", 2) != 0)
            end = end_of_word(end + 1);
        int length = (int)(end - command) + (*end ? 2 : 0);
        if (!first && column + 1 + length > HC_COLUMNS) {
            (void)fprintf(out, " \\\n%*s", indent, "");
            column = indent;
            first = true;
        }
        column += first ? 0 : fprintf(out, " ");
        for (const char *at = command; at < end; column++) {
            char character[5];
            (void)hc_text_next(&at, character);
            (void)fputs(character, out);
        }
        first = false;
    }
    return column;
}

#include "op/wrap.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

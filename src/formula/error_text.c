/* An error for a terminal. What stands in the text may be anything; what is printed is one line of
   it, in characters of one column each, cut where it is too long for the terminal. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formula/program.h"
#include "op/text.h"

enum { COLUMNS = 79, INDENT = 2, ROOM = COLUMNS - INDENT };

/* The output: `used` bytes of `size`. */
struct output {
    char *buffer;
    size_t size;
    size_t used;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
print(struct output *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(out->buffer + out->used, out->size - out->used, format, arguments);
    va_end(arguments);
    out->used = out->used + (size_t)n < out->size ? out->used + (size_t)n : out->size - 1;
}

/* The sentence, as many words on a line as fit. */
static void print_words(struct output *out, const char *text)
{
    for (int column = 0; *text;) {
        int n = (int)strcspn(text + 1, " ") + 1;
        if (column > 0 && column + n > COLUMNS) {
            print(out, "\n ");
            column = 1;
        }
        print(out, "%.*s", n, text);
        column += n;
        text += n;
    }
    print(out, "\n");
}

/* The next character as one column. */
static const char *column(const char *at, char character[5])
{
    char was = *at;
    (void)hc_text_next(&at, character);
    if (character[0] == ' ' && was != ' ' && was != '\t')
        character[0] = '?';
    return at;
}

static int columns(const char *from, const char *to)
{
    char character[5];
    int n = 0;
    for (; from < to; n++)
        from = column(from, character);
    return n;
}

void hc_formula_error_text(const struct hc_formula_error *error, char *buffer, size_t size)
{
    struct output out = {.size = size};
    const char *place = error->text + error->at;
    const char *line = place;
    const char *end = place + strcspn(place, "\n");
    const char *marked = place + error->length < end ? place + error->length : end;
    char character[5];
    while (line > error->text && line[-1] != '\n')
        line--;
    int at = columns(line, place);
    int all = columns(line, end);
    int width = columns(place, marked);
    /* Columns first to last - 1 are printed, with dots where the line goes on. */
    int first = all <= ROOM || at < ROOM / 2 ? 0 : at - ROOM / 2;
    if (first > 0 && all - first < ROOM)
        first = all - ROOM;
    int last = all - first > ROOM ? first + ROOM : all;
    if (size == 0)
        return;
    out.buffer = buffer;
    print_words(&out, error->what);
    print(&out, "%*s", INDENT, "");
    for (int n = 0; n < last; n++) {
        line = column(line, character);
        bool dots = (first > 0 && n < first + 3) || (last < all && n >= last - 3);
        if (n >= first)
            print(&out, "%s", dots ? "." : character);
    }
    print(&out, "\n%*s^", INDENT + at - first, "");
    for (int n = at + 1; n < at + width && n < last; n++)
        print(&out, "~");
}

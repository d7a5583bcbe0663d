#include "cli/colour.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "op/text.h"
#include "op/wrap.h"

enum when { AUTO, ALWAYS, NEVER };
static const char *const when_names[] = {"auto", "always", "never", NULL};
static int chosen = AUTO;

const struct hc_option hc_colour_option[] = {
    {.name = "color",
     .value = "WHEN",
     .choice = &chosen,
     .choices = when_names,
     .help = "auto (default: on a terminal, unless NO_COLOR is set), always or never"},
    {0},
};

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && value[0];
}

static bool is_zero(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "0") == 0;
}

static bool none;

void hc_terminal_none(void)
{
    none = true;
}

bool hc_terminal_draws(FILE *out)
{
    const char *terminal = getenv("TERM");
    return !none && terminal && terminal[0] && strcmp(terminal, "dumb") != 0 &&
           isatty(fileno(out)) == 1;
}

bool hc_colour_on(FILE *out)
{
    static const char *const force[] = {"CLICOLOR_FORCE", "FORCE_COLOR"};
    if (chosen != AUTO)
        return chosen == ALWAYS;
    if (is_set("NO_COLOR"))
        return false;
    for (size_t i = 0; i < sizeof force / sizeof *force; i++)
        if (is_set(force[i]) && !is_zero(force[i]))
            return true;
    return !is_zero("CLICOLOR") && hc_terminal_draws(out);
}

/* Bold red and plain green differ in weight, too, for eyes that see both alike. */
const char *hc_colour_begin(FILE *out, enum hc_colour colour)
{
    static const char *const begin[HC_COLOURS] = {
        [HC_PLAIN] = "",
        [HC_COLOUR_PASS] = "\033[32m",
        [HC_COLOUR_FAIL] = "\033[1;31m",
        [HC_COLOUR_WARN] = "\033[33m",
        [HC_COLOUR_DIM] = "\033[2m",
        [HC_COLOUR_STRONG] = "\033[1m",
    };
    return hc_colour_on(out) ? begin[colour] : "";
}

const char *hc_colour_end(FILE *out, enum hc_colour colour)
{
    return colour != HC_PLAIN && hc_colour_on(out) ? "\033[0m" : "";
}

int hc_colour_word(FILE *out, enum hc_colour colour, int width, const char *text)
{
    char character[5];
    int columns = 0;
    (void)fputs(hc_colour_begin(out, colour), out);
    for (; hc_text_next(&text, character) > 0; columns++)
        (void)fputs(character, out);
    (void)fputs(hc_colour_end(out, colour), out);
    for (; columns < width; columns++)
        (void)fputc(' ', out);
    return columns;
}

void hc_colour_print(FILE *out, enum hc_colour colour, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fputs(hc_colour_begin(out, colour), out);
    hc_vprint_text(out, format, arguments);
    (void)fputs(hc_colour_end(out, colour), out);
    va_end(arguments);
}

enum hc_colour hc_colour_of(enum hc_verdict verdict)
{
    static const enum hc_colour colours[HC_VERDICT_COUNT] = {
        [HC_PASS] = HC_COLOUR_PASS,       [HC_FAIL] = HC_COLOUR_FAIL,
        [HC_SKIPPED] = HC_COLOUR_DIM,     [HC_UNIMPLEMENTED] = HC_COLOUR_WARN,
        [HC_MISTRUSTED] = HC_COLOUR_WARN, [HC_ERROR] = HC_COLOUR_FAIL,
    };
    return colours[verdict];
}

void hc_terminal_clear(FILE *out)
{
    (void)fputs("\r\033[K", out);
}

void hc_terminal_redraw(FILE *out, const char *line)
{
    char character[5];
    int room = hc_terminal_columns(out, HC_COLUMNS) - 1;
    hc_terminal_clear(out);
    for (; room > 0 && hc_text_next(&line, character) > 0; room--)
        (void)fputs(character, out);
    (void)fflush(out);
}

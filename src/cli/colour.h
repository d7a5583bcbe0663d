/* Colour and width of what people read.

   Colour says nothing that the words do not say. Whether a stream gets it is decided here alone,
   in this order:
     --color=always or --color=never, wherever it stands on the command line;
     NO_COLOR that is set and not empty: never (no-color.org);
     CLICOLOR_FORCE or FORCE_COLOR that is set, not empty and not 0: always;
     CLICOLOR=0, TERM unset, empty or "dumb": never;
     else where the stream is a terminal.
   What programs read (JSON, TAP, JUnit, tabs) never gets any. */
#ifndef HC_CLI_COLOUR_H
#define HC_CLI_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

#include "check/check.h"
#include "cli/command.h"
#include "op/wrap.h"

/* What a text says, not how it looks. */
enum hc_colour {
    HC_PLAIN,
    HC_COLOUR_PASS,
    HC_COLOUR_FAIL,
    HC_COLOUR_WARN,
    HC_COLOUR_DIM,    /* what one may pass over */
    HC_COLOUR_STRONG, /* headings, names */
    HC_COLOURS
};

/* The option --color, which every command has. */
extern const struct hc_option hc_colour_option[];

bool hc_colour_on(FILE *out);

/* What begins and what ends a colour on this stream: an escape sequence, or "". They have no width:
   columns must be counted without them. */
const char *hc_colour_begin(FILE *out, enum hc_colour colour);
const char *hc_colour_end(FILE *out, enum hc_colour colour);

/* Prints a text as one line of safe characters (op/text.h) in a colour, with blanks behind it up to
   `width` characters. Returns the number of columns. */
int hc_colour_word(FILE *out, enum hc_colour colour, int width, const char *text);

/* hc_print in a colour. The text should end before its newline. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void hc_colour_print(FILE *out, enum hc_colour colour, const char *format, ...);

/* The colour of a verdict: PASS, FAIL and ERROR, and those between. */
enum hc_colour hc_colour_of(enum hc_verdict verdict);

/* Whether lines may be drawn over: the stream is a terminal, and none that is called dumb. */
bool hc_terminal_draws(FILE *out);

/* From now on no stream is a terminal: those of a rank end in the program that has started it,
   which may write them to a file. mpirun gives ranks a terminal of its own as standard output. */
void hc_terminal_none(void);

/* Draws a line of progress over the one before, cut to the width that the terminal has now; and
   removes it. */
void hc_terminal_redraw(FILE *out, const char *line);
void hc_terminal_clear(FILE *out);

#endif

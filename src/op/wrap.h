/* Text for terminals of 80 columns, and of fewer. */
#ifndef HC_OP_WRAP_H
#define HC_OP_WRAP_H

#include <stdio.h>

enum { HC_COLUMNS = 80 };

/* How wide the terminal is now, at least 20; `otherwise` if the stream is none. Ask again before
   each line: people resize their windows. */
int hc_terminal_columns(FILE *out, int otherwise);

/* Prints the words of a text, as many on a line as fit, and a newline. The first line goes on at
   `column`, where the output is; the others are indented. Newlines of the text count as blanks, but
   an empty line stays empty, and a line that begins with a blank is printed as it is. A line has
   80 columns, or as many as the terminal has if it is narrower. */
void hc_print_wrapped(FILE *out, int column, int indent, const char *text);

/* The same for so many columns. */
void hc_print_narrow(FILE *out, int columns, int column, int indent, const char *text);

/* Prints a command of the shell, escaped for terminals, without a newline, and returns the column
   behind it. The first line goes on at `column`, the others begin at `indent`. A line has up to 80
   columns if the words are no longer, and ends with a backslash if more follow, so that all can be
   pasted at once. Quoted words stay whole, and options stay with their values. */
int hc_print_command(FILE *out, int column, int indent, const char *command);

#endif

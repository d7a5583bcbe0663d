/* Text for a terminal of 80 columns. */
#ifndef HC_OP_WRAP_H
#define HC_OP_WRAP_H

#include <stdio.h>

enum { HC_COLUMNS = 80 };

/* Prints the words of a text, as many on a line as fit, and a newline. The first line goes on at
   `column`, where the output is; the others are indented. Newlines of the text count as blanks, but
   an empty line stays empty, and a line that begins with a blank is printed as it is. */
void hc_print_wrapped(FILE *out, int column, int indent, const char *text);

/* The same for a terminal of so many columns. */
void hc_print_narrow(FILE *out, int columns, int column, int indent, const char *text);

#endif

/* Text as the source of a manual page (man(7)), in which no word is an instruction. */
#ifndef HC_CLI_MANUAL_ROFF_H
#define HC_CLI_MANUAL_ROFF_H

#include <stdio.h>

/* One line, without its newline: words of capitals in italics, options in bold. */
void hc_roff_usage(FILE *out, const char *usage);

/* What stands below NAME, whole: tools for manuals read it. */
void hc_roff_name(FILE *out, const char *name, const char *summary);

/* A line as it is, without its newline. */
void hc_roff_line(FILE *out, const char *line);

/* Paragraphs in the form of op/wrap.h: words are filled, and a line that begins with a blank stays
   as it is. */
void hc_roff_text(FILE *out, const char *text);

#endif

/* Texts that are put together piece by piece. */
#ifndef HC_CLI_LINES_H
#define HC_CLI_LINES_H

#include <stddef.h>
#include <stdio.h>

/* Appends to a text of at most `bytes`, its NUL included, what printf would print (op/text.h). What
   does not fit is left out. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void hc_append(char *text, size_t bytes, const char *format, ...);

/* How many there are of what a noun says, as people say it: "1 result", "2 results", "0 families".
   The noun stands for one, with what stands before it, as in "more result". */
struct hc_counted {
    char text[64];
};
struct hc_counted hc_count(long long count, const char *noun);

/* The noun alone, as it stands behind such a number. */
struct hc_counted hc_noun(long long count, const char *noun);

/* A text that grows, before it is wrapped. Begin with zeros. */
enum { HC_LINES_TEXT = 4096 };
struct hc_lines {
    char text[HC_LINES_TEXT];
    size_t used;
};
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_lines_add(struct hc_lines *lines, const char *format, ...);

/* Ends a line, which is at `column`, with a text: on a terminal on as many lines as it takes, those
   after the first indented, and elsewhere on one, since programs read it. The text may contain any
   bytes: it is escaped (op/text.h), and cut to HC_LINES_TEXT. */
void hc_print_folded(FILE *out, int column, int indent, const char *text);

#endif

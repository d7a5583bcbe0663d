/* Texts that are put together piece by piece. */
#ifndef HC_CLI_LINES_H
#define HC_CLI_LINES_H

#include <stddef.h>

/* Appends to a text of at most `bytes`, its NUL included, what printf would print (op/text.h). What
   does not fit is left out. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void hc_append(char *text, size_t bytes, const char *format, ...);

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

#endif

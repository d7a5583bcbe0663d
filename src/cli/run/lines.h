/* Texts that a run puts together before it wraps them. */
#ifndef HC_CLI_RUN_LINES_H
#define HC_CLI_RUN_LINES_H

#include <stddef.h>

enum { HC_LINES_TEXT = 4096 };

/* A text that grows; what does not fit is left out. Begin with zeros. */
struct hc_lines {
    char text[HC_LINES_TEXT];
    size_t used;
};

/* Adds what printf would print (op/text.h). */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_lines_add(struct hc_lines *lines, const char *format, ...);

#endif

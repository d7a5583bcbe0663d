/* What the tests of verify ask of the lines that it prints below a verdict. */
#ifndef HC_CLI_TESTING_LINES_H
#define HC_CLI_TESTING_LINES_H

#include <criterion/criterion.h>
#include <string.h>

/* No line is longer than a terminal's. */
static inline void expect_narrow(const char *text)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        cr_expect(end - text <= 80, "%d columns: %.*s", (int)(end - text), (int)(end - text), text);
}

/* The text with its lines joined. */
static inline const char *unwrapped(const char *text)
{
    static char joined[4096];
    size_t n = 0;
    while (*text && n + 1 < sizeof joined) {
        bool breaks = strncmp(text, "\n     ", 6) == 0;
        joined[n++] = breaks ? ' ' : *text;
        text += breaks ? 6 : 1;
    }
    joined[n] = '\0';
    return joined;
}

#endif

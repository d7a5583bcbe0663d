/* Texts that people read. What a file, a path or a library says may hold anything; here it becomes
   one line of valid UTF-8, and a number that is none becomes "nan", never "-nan" (the sign of a NaN
   says nothing, and x86 sets it in 0/0). */
#ifndef HC_OP_TEXT_H
#define HC_OP_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Takes the next character off *text and puts it, closed by a zero, into `character`: 1 to 4 bytes
   of UTF-8 that XML may hold. Control characters become a space, what is no UTF-8 becomes U+FFFD.
   Returns its length, 0 at the end. */
size_t hc_text_next(const char **text, char character[5]);

/* Like vsnprintf, but for the signs of NaNs. Columns keep their widths. Returns what snprintf
   does. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 0)))
#endif
int hc_text_format(char *text, size_t size, const char *format, va_list arguments);

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int hc_text_write(char *text, size_t size, const char *format, ...);

/* Like fprintf, of numbers that people read. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_print(FILE *out, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
void hc_vprint(FILE *out, const char *format, va_list arguments);

/* The text as one word of a line for the shell, for people to paste: as it is where that is plain,
   else in single quotes, in which the shell reads nothing. Returns false where it was cut to `size`
   bytes. */
bool hc_text_shell(char *word, size_t size, const char *text);

/* The text as one line, without its end. */
void hc_text_line(FILE *out, const char *text);

/* The text as it stands between the tags and within the quoted attributes of HTML, XML and SVG. */
void hc_text_markup(FILE *out, const char *text);

#endif

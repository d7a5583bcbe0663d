/* Texts that people read. The text of a file, a path or a library may contain any bytes; here it
   becomes one line of valid UTF-8. A NaN is printed as "nan", never as "-nan": its sign means
   nothing, and x86 sets it in 0/0. */
#ifndef HC_OP_TEXT_H
#define HC_OP_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Reads the next character of *text, moves *text behind it, and writes it with a terminating zero
   to `character`: 1 to 4 bytes of UTF-8 that XML allows. A control character becomes a space, and
   bytes that are no UTF-8 become U+FFFD. Returns the length, 0 at the end. */
size_t hc_text_next(const char **text, char character[5]);

/* vsnprintf without the signs of NaNs. Columns keep their widths. Returns what vsnprintf does. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 0)))
#endif
int hc_text_format(char *text, size_t size, const char *format, va_list arguments);

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int hc_text_write(char *text, size_t size, const char *format, ...);

/* fprintf, likewise. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_print(FILE *out, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
void hc_vprint(FILE *out, const char *format, va_list arguments);

/* fprintf of one line, whose newline is added. The texts in it may contain any bytes: they are
   escaped, as hc_text_next does. hc_vprint_text does the same, and adds no newline. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_print_line(FILE *out, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 0)))
#endif
void hc_vprint_text(FILE *out, const char *format, va_list arguments);

/* Writes the text as one word of a shell command that people can paste: unchanged if it is plain,
   otherwise in single quotes. Returns false if it was cut to `size` bytes. */
bool hc_text_shell(char *word, size_t size, const char *text);

/* Writes the text as one line, cut to `size` bytes between two characters. */
void hc_text_plain(char *line, size_t size, const char *text);

/* Prints the text as one line, without a newline. */
void hc_text_line(FILE *out, const char *text);

/* Prints the text escaped, for use between tags and in quoted attributes of HTML, XML and SVG. */
void hc_text_markup(FILE *out, const char *text);

#endif

/* A page is a template: a file of reports/ that stands in the program (cli/report/script.h), and is
   filled in with JSON. A designer opens reports/page.html in a browser as it is.

     {{name}}            a text or a whole number, escaped
     {{name|way}}        the same, written in another way (template.c has the list)
     <!-- each name -->  once for each element of a list, whose members are names inside
     <!-- between -->    what follows stands between two elements
     <!-- if name -->    if there is such a member, and it is not false, 0 or empty
     <!-- else -->       otherwise; also if a list is empty
     <!-- markup name --> what hc_page_markup set, as it is; what stands here is a sample
     <!-- end -->

   Names are looked for in the innermost element first; `.` is the element itself. Every other
   comment is left out, and so is a line that has a comment and writes nothing. In HTML, lines lose
   their indentation.

   Nothing but `markup` writes a text that is not escaped. */
#ifndef HC_CLI_REPORT_TEMPLATE_H
#define HC_CLI_REPORT_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Writes the template with what stands in `data`, an object. That the template is well-formed, and
   that each {{name}} is there, is asserted. */
void hc_template_fill(FILE *out, const char *text, bool markdown, const json_t *data);

/* What makes the data. Without memory these do nothing, and hc_json_status says so. */

/* A new list as this member; and a new object, or a text, at the end of a
   list. */
json_t *hc_page_list(json_t *object, const char *name);
json_t *hc_page_add(json_t *list);
void hc_page_append(json_t *list, const char *text);

/* A member: a text, which may be of any bytes (NULL: nothing is set), a whole number, a flag, or
   what is formatted. */
void hc_page_text(json_t *object, const char *name, const char *text);
void hc_page_number(json_t *object, const char *name, long long number);
void hc_page_flag(json_t *object, const char *name, bool flag);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void hc_page_print(json_t *object, const char *name, const char *format, ...);

/* Markup, which must be sound whatever was read: an SVG of cli/picture. */
void hc_page_markup(json_t *object, const char *name, const char *markup);

/* Writes a count with commas between its thousands, as in 14,173. */
enum { HC_LONGEST_COUNT = 32 };
const char *hc_page_count(long long count, char text[HC_LONGEST_COUNT]);

#endif

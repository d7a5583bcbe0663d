/* JSON documents that are whole. If there is no memory, the functions of jansson return NULL or -1,
   and accept such a NULL without a word: a document would just lack a part, a record a result.
   Instead of asking after each of hundreds of calls, every allocation is watched. Once one has
   failed, no document is written any more. */
#ifndef HC_CHECK_RECORD_JSON_H
#define HC_CHECK_RECORD_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "op/status.h"

/* Watches jansson's allocations from now on; `allocate` makes them (malloc). */
void hc_json_watch(void *(*allocate)(size_t bytes));

/* HC_NO_MEMORY, with a line, if one of them has failed since. */
enum hc_status hc_json_status(void);

/* A text. Bytes that are not UTF-8 are shown as \xff. */
json_t *hc_json_text(const char *text);

/* A real number as a string in hex: "0x1.8p-12", "inf", "nan". */
json_t *hc_json_real(double value);

/* Prints the document, indented, with a newline. HC_NO_MEMORY; HC_IO. */
enum hc_status hc_json_print(FILE *out, const json_t *document);

/* Replaces the file by the document as it is printed; "-" is standard output. HC_NO_MEMORY: the old
   file stays. HC_IO. */
enum hc_status hc_json_write(const char *path, const json_t *document);

#endif

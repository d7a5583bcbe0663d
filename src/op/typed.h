/* What people type: lists, and names that are not quite right. */
#ifndef HC_OP_TYPED_H
#define HC_OP_TYPED_H

#include <stddef.h>

#include "op/status.h"

/* The next element of a list, `length` bytes at *element: elements are separated by commas, blanks
   around each do not count, and none may be empty. *at is where to read, NULL behind the last one.
   HC_INVALID with a line that quotes the list and names it `what` ("--recipes"). */
enum hc_status hc_list_next(const char *what, const char *list, const char **at,
                            const char **element, size_t *length);

enum { HC_LONGEST_NAME = 95 };

/* The name, of those that there are, that is nearest to what was typed. */
struct hc_nearest {
    char typed[HC_LONGEST_NAME + 1];
    char best[HC_LONGEST_NAME + 1];
    int distance; /* letters to insert, delete, replace or swap with the next */
    char hint[HC_LONGEST_NAME + 32];
};

struct hc_nearest hc_nearest_to(const char *typed, size_t length);

/* One of the names that there are; those of more than HC_LONGEST_NAME letters are passed over. */
void hc_nearest_try(struct hc_nearest *nearest, const char *name);

/* "; did you mean 'NAME'?", or "" where none is near: a quarter of the letters may be wrong, or the
   name's end be missing. It lives as long as `nearest`. */
const char *hc_nearest_hint(struct hc_nearest *nearest);

#endif

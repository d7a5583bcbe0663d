/* What people type: lists, and names with a typing error. */
#ifndef HC_OP_TYPED_H
#define HC_OP_TYPED_H

#include <stddef.h>

#include "op/status.h"

/* Finds the next element of a list: `length` bytes at *element. Elements are separated by commas,
   blanks around them do not count, and none may be empty. *at is where to read on, NULL behind the
   last element. HC_INVALID with a line that quotes the list and calls it `what` ("--recipes"). */
enum hc_status hc_list_next(const char *what, const char *list, const char **at,
                            const char **element, size_t *length);

enum { HC_LONGEST_NAME = 95 };

/* Which of the existing names is nearest to what was typed. */
struct hc_nearest {
    char typed[HC_LONGEST_NAME + 1];
    char best[HC_LONGEST_NAME + 1];
    int distance; /* number of letters inserted, deleted, replaced, or swapped with the next */
    char hint[HC_LONGEST_NAME + 32];
};

struct hc_nearest hc_nearest_to(const char *typed, size_t length);

/* Compares one more existing name; one of more than HC_LONGEST_NAME letters is ignored. */
void hc_nearest_try(struct hc_nearest *nearest, const char *name);

/* Takes a name as what was meant, however it is spelt. */
void hc_nearest_take(struct hc_nearest *nearest, const char *name);

/* "; did you mean 'NAME'?", or "" if no name is near. Up to a quarter of the letters may be wrong,
   or the end of the name may be missing. The text lives as long as `nearest`. */
const char *hc_nearest_hint(struct hc_nearest *nearest);

#endif

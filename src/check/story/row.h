/* A row of the table of claims: claims with one name, or with names that differ only in numbers. */
#ifndef HC_CHECK_STORY_ROW_H
#define HC_CHECK_STORY_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "check/story/story.h"

/* The name of a claim, taken apart into words and numbers, so that "w after step 5" and "w after
   step 6" are known to be alike. A number stands by itself: the digits of "fp16", "beta1" and
   "deepspeed-0.17.1" belong to words. "1e-4" and "2^-24" are one number each. */
enum { HC_NAME_NUMBERS = 4, HC_NAME_LENGTH = 128 };

struct hc_story_number {
    double value;
    char text[20];
};

struct hc_story_name {
    char text[HC_NAME_LENGTH];
    char words[HC_NAME_LENGTH]; /* the text with a mark instead of each number */
    int count;                  /* of numbers; further ones belong to the words */
    struct hc_story_number number[HC_NAME_NUMBERS];
};

/* Takes `what` apart. A text that is too long is cut. */
void hc_story_name_read(struct hc_story_name *name, const char *what);

/* Writes the name with the ranges from `low` to `high` in the places of its numbers. */
void hc_story_name_write(char *text, size_t size, const struct hc_story_name *name,
                         const struct hc_story_number *low, const struct hc_story_number *high);

struct hc_story_row_range {
    double low; /* of the numbers that are not NaN */
    double high;
    bool some;   /* there is one */
    bool finite; /* there is a finite one */
    bool nan;
};

struct hc_story_row {
    enum hc_claimed_kind kind;
    bool others; /* the last row, which takes claims of all kinds */
    struct hc_story_name name;
    struct hc_story_number low[HC_NAME_NUMBERS]; /* of the names' numbers */
    struct hc_story_number high[HC_NAME_NUMBERS];
    int64_t claims;
    int64_t checked; /* comparisons of these claims, */
    int64_t of;      /* how many elements there are */
    int64_t wrong;
    struct hc_story_row_range want;
    struct hc_story_row_range got;
    bool boundless; /* a bound is infinite: any number is right */
    /* The claim that came nearest to its bound: */
    double ratio;   /* its error / bound */
    int64_t number; /* which of the row's claims it is, from 1 */
    int64_t index;  /* the element that a sample shows */
    int digits;     /* of the code `bits`; 0: there is none */
    uint64_t bits;
    struct hc_story_number at[HC_NAME_NUMBERS];
};

struct hc_story_row hc_story_row_of(const struct hc_claimed *claimed);

/* Whether both have one kind and one name; `alike`: the numbers in it may differ. */
bool hc_story_row_matches(const struct hc_story_row *row, const struct hc_story_row *next,
                          bool alike);

/* Adds the claims of `next`, which were made later, to those of `row`. */
void hc_story_row_join(struct hc_story_row *row, const struct hc_story_row *next);

/* Prints rows as a table of 80 columns. */
void hc_story_rows_print(const struct hc_story_row *rows, int count, FILE *out);

#endif

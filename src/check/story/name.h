/* The name of a claim, taken apart into words and numbers, so that "w after step 5" and "w after
   step 6" are known to be alike. A number stands by itself: the digits of "fp16", "beta1" and
   "deepspeed-0.17.1" belong to words. "1e-4" and "2^-24" are one number each. */
#ifndef HC_CHECK_STORY_NAME_H
#define HC_CHECK_STORY_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { HC_NAME_NUMBERS = 4, HC_NAME_LENGTH = 128 };

struct hc_story_number {
    double value;
    char text[20];
};

struct hc_story_name {
    char text[HC_NAME_LENGTH];
    char words[HC_NAME_LENGTH]; /* the text with a mark in the place of each number */
    int count;                  /* of numbers; further ones belong to the words */
    struct hc_story_number number[HC_NAME_NUMBERS];
};

/* Takes `what` apart. A text that is too long is cut. */
void hc_story_name_read(struct hc_story_name *name, const char *what);

/* Writes the name with the ranges from `low` to `high` in the places of its numbers. */
void hc_story_name_write(char *text, size_t size, const struct hc_story_name *name,
                         const struct hc_story_number *low, const struct hc_story_number *high);

#endif

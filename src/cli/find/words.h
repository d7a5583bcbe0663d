/* Texts as words that can be compared: what a case says of itself, and what somebody types who
   looks for it. */
#ifndef HC_CLI_FIND_WORDS_H
#define HC_CLI_FIND_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HC_WORD_BYTES = 40, HC_WORDS_OF_TEXT = 400 };

/* A word, in small letters and without the commas of a number: what was typed, and its stem, by
   which "updates", "updated" and "updating" are one. */
struct hc_word {
    char typed[HC_WORD_BYTES];
    char stem[HC_WORD_BYTES];
    bool number;        /* 65504, 1e-8, 2^-24: it is compared whole */
    bool common;        /* "the", "is", "when": it says nothing */
    uint64_t meanings;  /* the groups of synonyms.def that it belongs to, as bits */
    uint64_t as_phrase; /* those of them to which it belongs with its neighbours alone */
};

/* The words of a text; its first HC_WORDS_OF_TEXT, if it has more. Returns their number. What is no
   letter, digit or part of a number parts words, so that slugs and names of functions count as
   their words. */
int hc_words_of_text(const char *text, struct hc_word words[HC_WORDS_OF_TEXT]);

/* How well one word answers to another, from 0 to 1: the same word 1, the same stem nearly so, a
   synonym less, and least a word that only begins with what was asked for. */
double hc_word_match(const struct hc_word *asked, const struct hc_word *found);

#endif

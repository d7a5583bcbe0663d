/* Searches cases, and reports that no case shows, by a few words. Both the texts of a case and what
   a user types become words that can be compared. */
#ifndef HC_CLI_FIND_FIND_H
#define HC_CLI_FIND_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "cases/registry.h"
#include "op/status.h"

enum { HC_WORD_BYTES = 40, HC_WORDS_OF_TEXT = 400 };

/* A word, in small letters and without the commas of a number: what was typed, and its stem, by
   which "updates", "updated" and "updating" are one. */
struct hc_find_word {
    char typed[HC_WORD_BYTES];
    char stem[HC_WORD_BYTES];
    bool number;        /* 65504, 1e-8, 2^-24: it is compared whole */
    bool common;        /* "the", "is", "when": it says nothing */
    uint64_t meanings;  /* the groups of synonyms.def that it belongs to, as bits */
    uint64_t as_phrase; /* those of them to which it belongs only together with its neighbours */
};

/* The words of a text; its first HC_WORDS_OF_TEXT, if it has more. Returns their number. Any
   character that is no letter, digit or part of a number separates words, so the words of slugs and
   of function names count one by one. */
int hc_words_of_text(const char *text, struct hc_find_word words[HC_WORDS_OF_TEXT]);

/* How well one word matches another, from 0 to 1: the same word is 1, the same stem a little less,
   a synonym less, and a word that only begins with the one asked for least. */
double hc_word_match(const struct hc_find_word *asked, const struct hc_find_word *found);

enum { HC_ASKED_WORDS = 24 };

/* One answer. */
struct hc_found {
    const char *name;
    const char *title;
    const char *source;
    double worth; /* larger is better; comparable within one question */
};

/* What was asked: the words that say something. */
struct hc_asked {
    int words;
    struct hc_find_word word[HC_ASKED_WORDS];
    int known[HC_ASKED_WORDS]; /* in how many cases and reports the word, or one like it, occurs */
    char typed[HC_ASKED_WORDS][HC_WORD_BYTES]; /* as it was typed, where it was taken for another */
};

/* Reads the words; those beyond HC_ASKED_WORDS are left out, and common ones, unless there are no
   others. */
void hc_asked_read(struct hc_asked *asked, const char *text);

/* Finds all that have one of the words, the best first, and counts in `asked` how many have each.
   An unknown word is taken for a known one with nearly the same spelling. If no word is known, the
   three cases whose names and titles share most letters with `text` are found. *found becomes an
   array of *count, which the caller frees. HC_NO_MEMORY, or HC_INVALID if the reports cannot be
   read, with a line. */
enum hc_status hc_find(struct hc_asked *asked, const char *text, struct hc_found **found,
                       int *count);

#endif

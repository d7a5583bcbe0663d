/* The cases, and the reports that no case shows, that answer best to a few words. */
#ifndef HC_CLI_FIND_RANK_H
#define HC_CLI_FIND_RANK_H

#include "cases/registry.h"
#include "cli/find/words.h"
#include "op/status.h"

enum { HC_ASKED_WORDS = 24 };

/* One answer. */
struct hc_found {
    const char *name;
    const char *title;
    const char *source;
    double worth; /* the best have most; it compares the answers of one question alone */
};

/* What was asked: the words that say something. */
struct hc_asked {
    int words;
    struct hc_word word[HC_ASKED_WORDS];
    int known[HC_ASKED_WORDS]; /* in how many cases and reports the word, or one like it, stands */
    char typed[HC_ASKED_WORDS][HC_WORD_BYTES]; /* as it was typed, where it was taken for another */
};

/* Reads the words; those beyond HC_ASKED_WORDS are left out, and common ones, unless there are no
   others. */
void hc_asked_read(struct hc_asked *asked, const char *text);

/* Finds all that have one of the words, the best first, and counts in `asked` how many have each. A
   word that nobody has is taken for one that is spelt nearly so. Where no word is known at all, the
   three are found whose names and titles share most letters with `text`, as it was typed. *found
   becomes an array of *count, which the caller frees. HC_NO_MEMORY, or HC_INVALID if the reports
   cannot be read, with a line. */
enum hc_status hc_find(struct hc_asked *asked, const char *text, struct hc_found **found,
                       int *count);

#endif

/* What the files of this folder share: the state of the reader of one core, its words, and the
   texts that it writes. A function that returns false has said in `what` or `wrong` why, or there
   is no memory. */
#ifndef HC_DEFINE_FPCORE_CORE_H
#define HC_DEFINE_FPCORE_CORE_H

#include <stdbool.h>
#include <stddef.h>

enum { HC_CORE_LONGEST_NAME = 40, HC_CORE_MOST_NAMES = 60 };

/* A text that grows. */
struct hc_core_text {
    char *at;
    size_t length;
    size_t room;
    bool failed;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void
hc_core_put(struct hc_core_text *t, const char *format, ...);

struct hc_core_reader {
    const char *next;
    const char *what;  /* a word that a core uses and a definition has not; NULL: none yet */
    char word[64];     /* a copy of it */
    const char *wrong; /* what makes the text no FPCore; NULL: nothing yet */
    int names;
    char taken[HC_CORE_MOST_NAMES][HC_CORE_LONGEST_NAME + 8];
    struct hc_core_text equations;
};

void hc_core_skip_blanks(struct hc_core_reader *r);
bool hc_core_opens(struct hc_core_reader *r);
bool hc_core_closes(struct hc_core_reader *r);
bool hc_core_take_bracket(struct hc_core_reader *r, bool opening);

/* The length of the word that stands here; a text in quotes is one. */
int hc_core_word_here(struct hc_core_reader *r);

/* Takes a word; false where there is none. */
bool hc_core_take_word(struct hc_core_reader *r, const char **word, int *length);
bool hc_core_is(const char *word, int length, const char *text);

/* Passes over a word, or all that stands in a pair of brackets. */
bool hc_core_skip_form(struct hc_core_reader *r);

/* A definition has no such word: always false. */
bool hc_core_lacks(struct hc_core_reader *r, const char *word, int length);

/* A name that the definition does not have yet, near to the core's. */
bool hc_core_new_name(struct hc_core_reader *r, const char *word, int length,
                      char known[HC_CORE_LONGEST_NAME + 8]);

/* operations.c: writes a constant's or a number's text; false where the word is neither. */
bool hc_core_constant(const char *word, int length, struct hc_core_text *out);

/* Writes what the operation of that name makes of its operands, and whether that is a truth. */
bool hc_core_apply(struct hc_core_reader *r, const char *word, int length,
                   struct hc_core_text *operand, int count, struct hc_core_text *out, bool *truth);

#endif

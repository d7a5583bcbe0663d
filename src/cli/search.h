/* How well a text answers to a word that somebody searches for. */
#ifndef HC_CLI_SEARCH_H
#define HC_CLI_SEARCH_H

#include <stddef.h>

/* A word as a text is searched for it: in small letters, and without the commas in numbers. Returns
   the length of the next word of *words and moves *words behind it; 0 at the end. A longer word is
   cut to `size` bytes. */
size_t hc_search_word(const char **words, char *word, size_t size);

/* 3 where the text has the word by itself, 2 where a word of the text begins so, 1 where it stands
   inside of one, 0 where it is not there. A word that begins with a digit is a number, which must
   stand by itself: 65504 is found in "65,504", and neither 1e-8 in "1e-80" nor 8 in "1e-8".
   Capitals do not count. */
int hc_search_text(const char *text, const char *word);

#endif

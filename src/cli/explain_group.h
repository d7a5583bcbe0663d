/* What `halfcheck explain` says where a word stands for several cases: "eps", "op/adam/". */
#ifndef HC_CLI_EXPLAIN_GROUP_H
#define HC_CLI_EXPLAIN_GROUP_H

#include <stdio.h>

#include "check/check.h"

/* The number of cases whose names begin with the word, up to a slash, and the first of them, at
   *first. The cases are sorted by name. */
int hc_group_of(const struct hc_case *const *cases, int count, const char *word,
                const struct hc_case *const **first);

/* Prints the cases of a group with their claims; or, of a large one, the groups in it. */
void hc_print_group(FILE *out, const struct hc_case *const *cases, int count, const char *word);

#endif

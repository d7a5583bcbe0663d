/* The generated cases def/NAME/FORMAT/SIZES/FAMILY: every definition of the library, on drawn
   inputs, held to the bound that its text has. They are made when they are asked for: a run of all
   cases has none of them, since nothing but programs, plug-ins and `plain` computes definitions. */
#ifndef HC_CASES_DEFINITIONS_H
#define HC_CASES_DEFINITIONS_H

#include <stdbool.h>

#include "define/value.h"

/* Adds the cases to hc_all_cases, once. HC_NO_MEMORY with a line. */
enum hc_status hc_cases_of_definitions(void);

/* Adds a text of somebody's own, whose memory is taken over, before the cases are made: they are
   called def/NAME. `path` lives on. HC_INVALID with a line if there is one of this name. */
enum hc_status hc_definitions_own(const char *name, char *text, const char *path);

/* What implementations may do in all these cases. */
void hc_definitions_allow(const struct hc_freedoms *freedoms);

/* The patterns of the cases of all texts of one's own, and how many there are. */
const char *const *hc_definitions_own_patterns(int *count);

/* Whether the pattern of a run is about these cases alone: it begins with "def". */
bool hc_is_of_definitions(const char *pattern);

/* Adds them if one of the patterns is. */
enum hc_status hc_cases_for_patterns(const char *const *patterns, int count);

#endif

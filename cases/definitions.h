/* The generated cases def/NAME/FORMAT/SIZES/FAMILY: every definition of the library, on drawn
   inputs, held to the bound that its text has. They are made when they are asked for: a run of all
   cases has none of them, since nothing but programs, plug-ins and `plain` computes definitions. */
#ifndef HC_CASES_DEFINITIONS_H
#define HC_CASES_DEFINITIONS_H

#include <stdbool.h>

#include "op/status.h"

/* Adds the cases to hc_all_cases, once. HC_NO_MEMORY with a line. */
enum hc_status hc_cases_of_definitions(void);

/* Whether the pattern of a run is about these cases alone: it begins with "def". */
bool hc_is_of_definitions(const char *pattern);

/* Adds them if one of the patterns is. */
enum hc_status hc_cases_for_patterns(const char *const *patterns, int count);

#endif

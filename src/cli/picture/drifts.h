/* What records of `compare --drift` say, for the two pictures of drift from fp64. */
#ifndef HC_CLI_PICTURE_DRIFTS_H
#define HC_CLI_PICTURE_DRIFTS_H

#include "cli/picture/drawing.h"

/* A member of an object: a number, which may be written as text, or NaN; and a text, or "". */
double hc_drifts_real(const json_t *object, const char *key);
const char *hc_drifts_text(const json_t *object, const char *key);

/* The recipes of a record of `compare --drift`; an empty list in other records. */
const json_t *hc_drifts_recipes(const struct hc_page_record *record);

/* The recipe, after the record if several have drift, and before the seed if there are several. */
const char *hc_drifts_name(char text[512], const struct hc_drawing *d, int record,
                           const json_t *recipe);

/* The relative error of all gradients of a recipe. */
double hc_drifts_error(const json_t *recipe);

/* The largest number of ranks that a recipe was measured over, or 0; and what the answer says of
   ranks in names. */
long long hc_drifts_most_ranks(const struct hc_drawing *d);
void hc_drifts_answer_ranks(const struct hc_drawing *d);

/* What one walk over the recipes finds. */
struct hc_drifts_summary {
    int recipes;
    int nans;
    const json_t *most; /* the recipe that drifts the most, of those whose gradients are finite */
    const json_t *least;
};
struct hc_drifts_summary hc_drifts_sum_up(const struct hc_drawing *d);

#endif

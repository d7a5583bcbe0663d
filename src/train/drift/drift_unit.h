/* Whether a backend's matrix unit takes a recipe's products. */
#ifndef HC_TRAIN_DRIFT_DRIFT_UNIT_H
#define HC_TRAIN_DRIFT_DRIFT_UNIT_H

#include "backend.h"
#include "train/update/recipe.h"

/* Whether the backend sums products of the recipe's 16-bit numbers otherwise than products in
   fp32. */
bool hc_recipe_meets_unit(const struct hc_recipe *recipe, const struct hc_backend *backend);

/* Whether it sums this product, of codes, otherwise than products in fp32. */
bool hc_call_meets_unit(const struct hc_call *call, const struct hc_backend *backend);

#endif

/* What a recipe rounds, as data. */
#ifndef HC_TRAIN_DRIFT_DRIFT_SOURCES_H
#define HC_TRAIN_DRIFT_DRIFT_SOURCES_H

#include "train/drift/drift.h"

/* The recipe's formats in the sources of a set, whose bit k is source k. `unit`: on a backend whose
   matrix unit is a source. `shards`: where gradients are averaged. */
struct hc_rounding hc_rounding_chosen(const struct hc_recipe *recipe, bool gpt, uint32_t set,
                                      bool unit, bool shards);

/* The recipe without clipping. hc_widened is what it stands for, in fp64 alone: parameter by
   parameter, without a scaler or a wrapper. */
struct hc_recipe hc_unclipped(const struct hc_recipe *recipe);
struct hc_recipe hc_widened(const struct hc_recipe *recipe);

/* Whether all fields are the same. */
bool hc_same_recipe(const struct hc_recipe *a, const struct hc_recipe *b);

#endif

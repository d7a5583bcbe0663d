/* The inside of an update, for the files that open it, step it and look into it. */
#ifndef HC_TRAIN_UPDATE_INNER_H
#define HC_TRAIN_UPDATE_INNER_H

#include "train/update.h"

/* What one optimizer call works on: a parameter, or with flat masters all those of a decay group. */
struct hc_update_item {
    struct hc_storage *piece[HC_PIECE_COUNT]; /* from MASTER on */
    enum hc_format arithmetic;
    bool decays;
};

struct hc_update_slot {
    struct hc_parameter *parameter;
    struct hc_storage *piece[HC_PIECE_COUNT]; /* all but MODEL */
};

struct hc_update {
    struct hc_device *device;
    struct hc_recipe recipe;
    int n;
    struct hc_update_slot *slots;
    int items;
    struct hc_update_item *item;
    struct hc_storage *scale;
    struct hc_storage *found;
    struct hc_storage *hyper;
    struct hc_counters counters;
};

#endif

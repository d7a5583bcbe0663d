/* The inside of an update, for the files that open it, step it and look into it. */
#ifndef HC_TRAIN_UPDATE_INNER_H
#define HC_TRAIN_UPDATE_INNER_H

#include "train/update.h"

/* Elements between the starts of neighbours in an arena: a multiple of this, so that each starts
   aligned to 64 bytes in every format. What lies between is zero and belongs to nobody. */
enum { HC_UPDATE_ALIGN = 64 };

struct hc_update_slot {
    struct hc_parameter *parameter;
    struct hc_storage *piece[HC_PIECE_COUNT]; /* all but MODEL */
    enum hc_format arithmetic;
    bool decays;
};

struct hc_update {
    struct hc_device *device;
    struct hc_recipe recipe;
    struct hc_scaler_update rule;
    int n;
    struct hc_update_slot *slots;
    int *
        order; /* of the slots in memory: those that decay first, then by the parameters' formats */
    struct hc_storage *scale;
    struct hc_storage *found;
    struct hc_storage *hyper;
    struct hc_storage *counts;
    struct hc_storage *single;   /* a table of one row, hc_update_step's */
    struct hc_storage *schedule; /* of as many as there are steps; or NULL */
    struct hc_storage *journal;  /* or NULL */
    struct hc_tensor reported[2];
};

/* The storage of a piece, where it is another's that one's; NULL: there is none. */
struct hc_storage *hc_update_storage(const struct hc_update *update, enum hc_piece piece, int i);

static inline int64_t hc_update_padded(int64_t count)
{
    return (count + HC_UPDATE_ALIGN - 1) / HC_UPDATE_ALIGN * HC_UPDATE_ALIGN;
}

#endif

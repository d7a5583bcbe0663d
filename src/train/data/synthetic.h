/* Images that stand in where no data is given: learnable, and the same on every machine. */
#ifndef HC_TRAIN_DATA_SYNTHETIC_H
#define HC_TRAIN_DATA_SYNTHETIC_H

#include "train/data/images.h"

/* Fills pixels and labels of images->count images, labels 0..classes-1 in turn. The class's kind
   (0..9, kind[label]) sets a stripe pattern: its direction (across or down) and its wave number (2
   to 6 a side). Phase, colour, contrast, brightness and noise are drawn for each image and say
   nothing of its class; neither does a crop or a flip. Only fp64 additions and products of Philox
   numbers are used, no libm, so that the bytes are the same everywhere. `first` is the number of
   the first image in the seed's stream. */
void hc_synthetic_fill(uint64_t seed, int64_t first, const double mean[HC_IMAGE_CHANNELS],
                       const double deviation[HC_IMAGE_CHANNELS], const int *kind, int classes,
                       struct hc_images *images);

#endif

/* Images and their labels in host memory. */
#ifndef HC_TRAIN_DATA_IMAGES_H
#define HC_TRAIN_DATA_IMAGES_H

#include <stdint.h>

#include "op/status.h"

#define HC_IMAGE_SIDE     32
#define HC_IMAGE_CHANNELS 3
#define HC_IMAGE_BYTES    3072 /* 32 * 32 * 3 */
#define HC_CLASSES        10

/* pixels: [count, 32, 32, 3], 0..255, channels last; labels: [count], 0..classes-1. */
struct hc_images {
    int64_t count;
    uint8_t *pixels;
    int32_t *labels;
};

/* Memory for so many images; count is set. HC_NO_MEMORY. */
enum hc_status hc_images_open(struct hc_images *images, int64_t count);
void hc_images_close(struct hc_images *images); /* zeros are fine */

#endif

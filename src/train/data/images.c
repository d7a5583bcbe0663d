#include "train/data/images.h"

#include <stdlib.h>

enum hc_status hc_images_open(struct hc_images *images, int64_t count)
{
    images->count = count;
    images->pixels = malloc((size_t)count * HC_IMAGE_BYTES);
    images->labels = malloc((size_t)count * sizeof *images->labels);
    if (images->pixels == NULL || images->labels == NULL)
        return hc_fail(HC_NO_MEMORY, "no memory for %lld images", (long long)count);
    return HC_OK;
}

void hc_images_close(struct hc_images *images)
{
    free(images->pixels);
    free(images->labels);
    *images = (struct hc_images){0};
}

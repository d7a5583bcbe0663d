#include "check/generate/border.h"

#include <assert.h>
#include <stdlib.h>

const char *const hc_extent_names[HC_EXTENT_COUNT] = {
    [HC_EXTENT_VECTOR] = "elements",
    [HC_EXTENT_TERMS] = "terms",
    [HC_EXTENT_GEMM_M] = "m",
    [HC_EXTENT_GEMM_N] = "n",
    [HC_EXTENT_GEMM_K] = "k",
    [HC_EXTENT_CONV_IMAGES] = "images",
    [HC_EXTENT_CONV_CHANNELS] = "channels",
    [HC_EXTENT_CONV_FILTERS] = "filters",
    [HC_EXTENT_CONV_PIXELS] = "pixels",
    [HC_EXTENT_CONV_IMAGE] = "image",
    [HC_EXTENT_CONV_WEIGHTS] = "weights",
    [HC_EXTENT_NORM_CHANNELS] = "channels",
    [HC_EXTENT_NORM_ELEMENTS] = "elements",
    [HC_EXTENT_POOL_CHANNELS] = "channels",
    [HC_EXTENT_POOL_ELEMENTS] = "elements",
    [HC_EXTENT_LOSS_ROWS] = "rows",
    [HC_EXTENT_LOSS_CLASSES] = "classes",
    [HC_EXTENT_TABLE_ROWS] = "rows",
};

/* Borders that no backend needs to list: an index kept in 16 bits, a label kept in 7 or 8. */
static const struct hc_border common[] = {
    {HC_EXTENT_VECTOR, 65536},     {HC_EXTENT_TERMS, 65536},      {HC_EXTENT_LOSS_ROWS, 64},
    {HC_EXTENT_LOSS_CLASSES, 128}, {HC_EXTENT_LOSS_CLASSES, 256}, {HC_EXTENT_TABLE_ROWS, 65536},
    {HC_EXTENT_COUNT, 0},
};

/* For a backend that lists no borders every power of two is one, up to this: as far as a call with
   only that extent stays small. */
static const int default_log2[HC_EXTENT_COUNT] = {
    [HC_EXTENT_VECTOR] = 18,        [HC_EXTENT_TERMS] = 18,         [HC_EXTENT_GEMM_M] = 10,
    [HC_EXTENT_GEMM_N] = 10,        [HC_EXTENT_GEMM_K] = 12,        [HC_EXTENT_CONV_IMAGES] = 7,
    [HC_EXTENT_CONV_CHANNELS] = 9,  [HC_EXTENT_CONV_FILTERS] = 9,   [HC_EXTENT_CONV_PIXELS] = 10,
    [HC_EXTENT_CONV_IMAGE] = 14,    [HC_EXTENT_CONV_WEIGHTS] = 16,  [HC_EXTENT_NORM_CHANNELS] = 12,
    [HC_EXTENT_NORM_ELEMENTS] = 18, [HC_EXTENT_POOL_CHANNELS] = 12, [HC_EXTENT_POOL_ELEMENTS] = 18,
    [HC_EXTENT_LOSS_ROWS] = 16,     [HC_EXTENT_LOSS_CLASSES] = 12,  [HC_EXTENT_TABLE_ROWS] = 12,
};

struct list {
    struct hc_border_size *sizes;
    int count;
};

static void add_size(struct list *list, int64_t size, int64_t border)
{
    for (int i = 0; i < list->count; i++)
        if (list->sizes[i].size == size)
            return;
    assert(list->count < HC_BORDER_SIZES);
    if (size > 0)
        list->sizes[list->count++] = (struct hc_border_size){size, border};
}

static void add_border(struct list *list, int64_t border)
{
    add_size(list, border - 1, border);
    add_size(list, border, border);
    add_size(list, border + 1, border);
    add_size(list, 2 * border + 7, border);
}

static void add_borders(struct list *list, const struct hc_border *borders, enum hc_extent extent)
{
    for (int log2 = 0; !borders && log2 <= default_log2[extent]; log2++)
        add_border(list, (int64_t)1 << log2);
    for (; borders && borders->size; borders++)
        if (borders->extent == extent)
            add_border(list, borders->size);
}

static int by_size(const void *a, const void *b)
{
    const struct hc_border_size *x = a;
    const struct hc_border_size *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

int hc_border_sizes(const struct hc_backend *const *backends, int count, enum hc_extent extent,
                    struct hc_border_size sizes[HC_BORDER_SIZES])
{
    struct list list = {.sizes = sizes};
    int built_in;
    const struct hc_backend *const *known = hc_backends_built_in(&built_in);
    add_borders(&list, common, extent);
    for (int i = 0; i < built_in; i++)
        add_borders(&list, known[i]->borders, extent);
    for (int i = 0; i < count; i++)
        add_borders(&list, backends[i]->borders, extent);
    qsort(sizes, (size_t)list.count, sizeof *sizes, by_size);
    return list.count;
}

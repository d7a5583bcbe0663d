/* The sizes that the cases border/ give to an extent: every border of the backends, and beside it. */
#ifndef HC_CHECK_GENERATE_BORDER_H
#define HC_CHECK_GENERATE_BORDER_H

#include "backend.h"

extern const char *const hc_extent_names[HC_EXTENT_COUNT];

enum { HC_BORDER_SIZES = 512 };

/* A size, and the border that it belongs to. */
struct hc_border_size {
    int64_t size;
    int64_t border;
};

/* For every border b of that extent: b - 1, b, b + 1 and 2 b + 7; each size above 0 once, from the
   smallest on. The borders are those of the backends that are built in, of the `count` backends given
   and of the formats that labels and indices may be kept in, so that a run on any of our own backends
   crosses the same ones. Returns how many there are. */
int hc_border_sizes(const struct hc_backend *const *backends, int count, enum hc_extent extent,
                    struct hc_border_size sizes[HC_BORDER_SIZES]);

/* Whether such calls know the extent: CONV_PIXELS is none of a gemm. */
bool hc_border_concerns(enum hc_op op, enum hc_extent extent);

#endif

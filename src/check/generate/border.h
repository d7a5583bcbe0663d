/* The sizes that the cases border/ give to an extent: every border of the backends, and beside it.

   Kernels work in blocks: of vector lanes, of cache lines, of a GPU's tiles. A defect often shows
   only where a size is one more or one less than a multiple of a block, and ordinary tests use
   round sizes. So each backend lists its borders (backend.h), and the cases cross all of them: each
   extent of each op takes every border b as b - 1, b, b + 1 and 2 b + 7, in calls on integers whose
   results are known (integers.h). Pairs of extents and parameters meet in a second set of calls
   (allpairs.h). A border that no backend lists is crossed only by chance. */
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

/* For every border b of that extent: b - 1, b, b + 1 and 2 b + 7; each size above 0 once, in rising
   order. The borders are those of the backends that are built in, of the `count` backends given,
   and of the formats that labels and indices may be kept in, so that runs on any of our own
   backends cross the same ones. Returns how many sizes there are. */
int hc_border_sizes(const struct hc_backend *const *backends, int count, enum hc_extent extent,
                    struct hc_border_size sizes[HC_BORDER_SIZES]);

#endif

/* The sizes that the cases border/ give to an extent: at and beside every border of the backends.

   Kernels work in blocks: of vector lanes, of cache lines, of a GPU's tiles. A defect often shows
   only where a size is one more or one less than a multiple of a block, and ordinary tests use
   round sizes. So each backend lists its borders (backend.h), and the cases cross all of them: each
   extent of each op takes every border b as b - 1, b, b + 1 and 2 b + 7, in calls on integers whose
   results are known (integers.h). Pairs of extents and parameters meet in a second set of calls
   (allpairs.h). A border that no backend lists is crossed only by chance. */
#ifndef HC_CHECK_GENERATE_BORDER_H
#define HC_CHECK_GENERATE_BORDER_H

#include "backend.h"
#include "check/check.h"
#include "check/generate/op_space.h"

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

/* What a case is about: one extent, or, with HC_EXTENT_COUNT, the choices of all extents, strides,
   pads and transpositions, every two of which meet in some call. */
struct hc_border_row {
    enum hc_op op;
    const struct hc_format_set *set;
    enum hc_extent extent;
    bool plain; /* of the op's sets only this one goes to the largest sizes at level standard */
};

enum { HC_BORDER_POINTS = 4 * HC_BORDER_SIZES, HC_BORDER_TEXT = 48 };

struct hc_border_point {
    struct hc_op_shape shape;
    int number; /* chooses what has no extent (check/generate/integers.h) */
    int64_t size;
    int64_t border;
    char text[HC_BORDER_TEXT]; /* "k 257" */
};

/* The calls at that level for the backends of the run. Returns how many there are. */
int hc_border_points(const struct hc_border_row *row, enum hc_level level,
                     const struct hc_backend *const *backends, int count,
                     struct hc_border_point points[HC_BORDER_POINTS]);

/* The call of a point, without memory. */
struct hc_call hc_border_call(const struct hc_border_row *row, const struct hc_border_point *point);

/* Runs the calls on integers, and claims that all elements are what integer arithmetic says
   (border_cases.c). */
void hc_claim_integers(struct hc_check *check, const struct hc_border_row *row,
                       const struct hc_border_point *points, int count);

#endif

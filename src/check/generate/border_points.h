/* The calls that a case border/ makes. */
#ifndef HC_CHECK_GENERATE_BORDER_POINTS_H
#define HC_CHECK_GENERATE_BORDER_POINTS_H

#include "check/generate/border.h"
#include "check/check.h"
#include "check/generate/op_space.h"

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

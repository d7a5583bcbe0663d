/* What several families share: lists of formats and shapes, and how tensors are laid out. */
#ifndef HC_CHECK_FAMILY_KIT_H
#define HC_CHECK_FAMILY_KIT_H

#include "check/family/family.h"
#include "check/judge/cut.h"
#include "check/repeats.h"

/* No sets: the op has no generated cases, since cases of its own say more. */
extern const struct hc_format_set hc_sets_none[];
extern const struct hc_format_set hc_sets_fp32[];

/* Inputs and outputs of H, accumulated in fp32. */
extern const struct hc_format_set hc_sets_mixed[];

/* Also fp32 inputs taken as tf32, fp16 accumulated in fp16, and, in gemm alone, fp8. */
extern const struct hc_format_set hc_sets_multiplied[];

/* Batch norm, and optimizers with fp32 or 16-bit state. */
extern const struct hc_format_set hc_sets_stateful[];

extern const struct hc_op_shape hc_shapes_vectors[];
extern const struct hc_op_shape hc_shapes_sums[];

extern const struct hc_variant hc_variants_plain[];
/* Two variants: the scalars that may be absent are there, or are not. */
extern const struct hc_variant hc_variants_bare[];

extern const struct hc_family_extent hc_extents_vector[];

struct hc_tensor hc_rank4(int64_t n, int64_t h, int64_t w, int64_t c);
struct hc_tensor hc_rank2(int64_t rows, int64_t columns, bool transposed);

/* The exponents of batch norm's and an optimizer's data: of squares and their roots, in the
   narrowest format. */
void hc_exponents_of_squares(const struct hc_draw_site *p, double *low, double *high);

/* Lengths of a family's vectors in size/: in an op's other formats, in one, and once more. */
#define HC_SIZE_SHORTER                                                                            \
    {                                                                                              \
        (1 << 16) + 1027                                                                           \
    }
#define HC_SIZE_VECTOR                                                                             \
    {                                                                                              \
        (1 << 20) + 1027                                                                           \
    }
#define HC_SIZE_VECTORS                                                                            \
    {                                                                                              \
        (1 << 24) + 1027                                                                           \
    }

/* The rows of all other formats of an op of vectors, after those of one. */
#define HC_SIZES_OF_OTHERS                                                                         \
    {HC_STANDARD, HC_OTHER_SETS, NULL, HC_SIZE_SHORTER},                                           \
    {                                                                                              \
        HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, HC_SIZE_VECTOR                                         \
    }

/* Kinds of axes: what stands along it in every tensor of the call. Rows are the rows of a product,
   the images of a batch, the elements of a vector; columns are its columns, filters, channels.
   Terms are summed over, or reach into each other, and stay as they are. */
enum hc_axis_kind { HC_AXIS_TERMS, HC_AXIS_ROWS, HC_AXIS_COLUMNS };

/* How many different ones there are: primes, so that no block of a kernel is a multiple of them. A
   loss has so many classes, which labels name: they are not repeated. */
enum { HC_SIZE_ALONE = 4 };
enum { HC_SMALL_IMAGES = 2, HC_SMALL_FILTERS = 5 };

/* How many different elements a vector of n has: fewer where it is shorter than 2^18. */
int64_t hc_small_vector(int64_t n);

/* Sets all eight numbers of a shape. */
void hc_shape_set(int64_t *d, const int64_t to[8]);

int64_t hc_at_most(int64_t n, int64_t extent);

/* Adds an axis to the slot's layout; or its extents, by their kinds. */
void hc_axes_add(struct hc_axes *l, enum hc_axis_kind kind, int64_t small, int64_t large,
                 int64_t step, int64_t alone);
void hc_axes_plain(struct hc_axes *l, const struct hc_tensor *small, const struct hc_tensor *large,
                   const enum hc_axis_kind *kinds);

/* Ops that definitions say (defined.c). Axis k of the op, in the order in which its slots' shapes
   name them, has the extent d[k]; options are as they are where nobody says more. */
void hc_open_axes(struct hc_call *call, const int64_t *d, const struct hc_variant *variant);

/* Integers, and what the reference says of them. */
bool hc_fill_defined(struct hc_integers *z);

/* An infinity takes its row with it: one row of four has one in the first input, or one element of
   four, and no other element has. */
bool hc_one_row_in_four(const struct hc_draw_site *p, int slot);
bool hc_no_other_specials(const struct hc_call *call, int slot);

/* What has an exponential or an erf: beyond 4 it is flat. What is linear near 0 gives subnormal
   numbers of few bits back. */
void hc_exponents_of_logits(const struct hc_draw_site *p, double *low, double *high);
bool hc_not_on_subnormals(const struct hc_call *call, enum hc_distribution distribution);

/* A special number that lies alone in `slot`: whether the results of the call are right where it is
   `special`, at element `at` (alone.c); what else of the inputs depends on where it lies (NULL:
   nothing). */
struct hc_alone {
    int slot;
    void (*place)(const struct hc_call *call, int64_t at);
    bool (*is_right)(const struct hc_call *call, int64_t at, double special);
};

/* Claims that each special number is found at the ends, in the middle and on both sides of each
   power of two. The inputs must be finite. */
void hc_claim_alone(struct hc_check *check, const struct hc_call *call,
                    const struct hc_alone *alone);

/* The same in a large call: each before and after 2^16 elements, or 2^20 if there are so many, at
   the ends and in the middle of these, which take turns; at level exhaustive at all of
   hc_claim_alone's places, too. */
void hc_claim_alone_late(struct hc_check *check, const struct hc_call *call,
                         const struct hc_alone *alone);

/* What ops with options (general_loss.c) have in common: the formats as a network takes them, an
   option of a call, the axes of large calls, and rows at borders. */
extern const struct hc_format_set hc_sets_of_networks[];
extern const struct hc_family_extent hc_extents_of_rows[];
void hc_border_of_rows(enum hc_extent extent, int64_t size, int number, int64_t *d);
void hc_set_real(struct hc_call *call, int option, double x);
void hc_set_integer(struct hc_call *call, int option, int64_t x);
void hc_set_flag(struct hc_call *call, int option, bool x);
void hc_layout_of_options(const struct hc_call *call, int slot, const struct hc_tensor *few,
                          const struct hc_tensor *large, struct hc_axes *to);

/* Images of any kind: rows are images, and columns channels. */
void hc_layout_images(const struct hc_call *call, int slot, const struct hc_tensor *small,
                      const struct hc_tensor *large, struct hc_axes *to);

#endif

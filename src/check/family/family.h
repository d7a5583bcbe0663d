/* What the generated cases know of an op, beside its descriptor: one row an op, in its family's
   file in this folder.

   A descriptor (op/descriptor.h) says what a call of the op may look like. A row here says which
   calls the cases make: over which formats, shapes and parameters (op/, op_space.h), on which
   numbers (distribution.h), on integers at which borders (border/, integers.h), at which sizes of
   models (size/, size_layout.h), and what judging an element costs. The reference, the bound and
   the kernels stand apart from it, so that none of them is held to itself.

   The comment of a column says what 0 or NULL means, so the row of a new op may be empty at first.
   A missing column is a case UNIMPLEMENTED with a line that names the column: op/NAME without
   lists, border/NAME without integers. */
#ifndef HC_CHECK_FAMILY_FAMILY_H
#define HC_CHECK_FAMILY_FAMILY_H

#include "backend.h"
#include "check/generate/allpairs.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "op/descriptor.h"

struct hc_cut;
struct hc_draw_site;
struct hc_integers;
struct hc_axes;

/* `extent` elements of a slot, `stride` apart. */
struct hc_run {
    int64_t stride;
    int64_t extent;
};

/* A number that all elements share and all results depend on, such as the scale of unscale or the
   step count of an optimizer. */
struct hc_bit_scalar {
    int slot;
    int64_t element;
    int count;
    double values[16];
};

/* An extent of the op's calls that border/ crosses. */
struct hc_family_extent {
    enum hc_extent extent;
    int at; /* which number of a shape it is, where a call with 1 for all others means something;
                   else HC_NEVER_ALONE */
    bool tiled; /* kernels cut it into tiles; cases vary all such extents at once */
};

enum { HC_NEVER_ALONE = -1 };

/* Choices for the extents of op_space.h, and, as the last, for things without an extent. */
struct hc_family_choices {
    struct {
        int count;
        int64_t value[HC_PAIR_LEVELS];
    } of[HC_PAIR_FACTORS];
};

/* A call at a size that models have. `set` and `variant` are names of the op's lists. A row for
   HC_OTHER_SETS stands for every set that has no row of its own at that level; there the variant
   NULL is the first that the set allows. A call at level exhaustive is left to fast backends:
   `exact` and simulated units would take minutes. */
#define HC_OTHER_SETS "*"

struct hc_family_size {
    enum hc_level level;
    const char *set;
    const char *variant;
    int64_t d[8];
};

/* A row of integers_vector: makes inputs and results from random integers r of 1 to 8 in
   magnitude. */
typedef void hc_family_element(const struct hc_call *call, const int32_t *r, int32_t *in,
                               double *want);

/* Inputs for sums that show what the accumulator is (generate/draw.c). */
struct hc_family_sums {
    int terms;     /* the slot whose elements are the terms; all other factors are 1 */
    bool added;    /* the terms are added as they are, without factors */
    bool in_codes; /* the terms are codes of few exponents, whose unit is their smallest number */

    /* Whether the call has such a sum (NULL: yes), and whether an element is the first term of its
       sum (NULL: element 0). */
    bool (*has)(const struct hc_call *call);
    bool (*is_first)(const struct hc_draw_site *p, int slot);

    /* The input that makes a term (NULL: the term), or all inputs that stagnate (NULL: first one
       term, then smaller ones). */
    double (*input)(const struct hc_draw_site *p, double term);
    double (*stagnating)(const struct hc_draw_site *p, double half_ulps);

    /* Whole numbers (NULL: two factors), and whether there are some (NULL: where they fit). */
    double (*whole)(const struct hc_draw_site *p, int slot);
    bool (*has_whole)(const struct hc_call *call);
};

struct hc_family {
    /* op/ and bits/. Lists end with a NULL name. */
    const struct hc_format_set *sets;
    const struct hc_op_shape *shapes;
    const struct hc_variant *variants;
    /* Which sets go with a variant, of those that the descriptor allows. NULL: all. Where
       sets_are_chosen the descriptor is not asked. */
    bool (*allows)(const struct hc_format_set *set, const struct hc_variant *variant);
    bool sets_are_chosen;
    bool first_set_is_quick;
    bool vectors; /* an element of the result depends on one element of each input */

    /* The shapes that the descriptor leaves open: the first input's, and those of HC_SIZE_RULE.
       NULL: a vector of d[0]. `finish` comes after formats. */
    void (*open)(struct hc_call *call, const int64_t *d, const struct hc_variant *variant);
    void (*finish)(struct hc_call *call, const int64_t *d, const struct hc_format_set *set);
    unsigned state;   /* slots of floats, as bits, that are in the set's format of state */
    unsigned addends; /* in the result's, and absent in a bare call */
    void (*bit_shape)(int64_t length, int64_t *d); /* of bits/. NULL: a vector */
    const struct hc_bit_scalar *bit_scalar;        /* that bits/ give many values, or NULL */
    void (*open_place)(struct hc_call *call);      /* before it runs in its own inputs, or NULL */
    void (*also)(struct hc_check *check, const struct hc_call *call); /* after specials, or NULL */

    /* Distributions: whether one is meaningful for the call (NULL: yes), and whether the call has a
       flag for an overflow (NULL: no). */
    bool (*applies)(const struct hc_call *call, enum hc_distribution distribution);
    bool (*finds)(const struct hc_call *call);

    /* Draws all values itself. NULL: draw.c does, and asks for the exponents of data (NULL: those
       of the factors of a product) and for numbers at boundaries (NULL: powers of two and their
       neighbours). */
    double (*draw)(const struct hc_draw_site *p, enum hc_values values,
                   enum hc_distribution distribution);
    void (*exponents)(const struct hc_draw_site *p, double *low, double *high);
    double (*boundary)(const struct hc_draw_site *p);

    /* Numbers of HC_VALUES_LABELS lie below this: places on an axis (NULL: a loss's classes).
       Numbers of HC_VALUES_OFFSET that a forward pass keeps of the inputs before them (NULL:
       draw.c's). */
    int64_t (*places)(const struct hc_call *call);
    double (*kept)(const struct hc_draw_site *p, int slot);

    /* Special numbers: elements that are always special, where no others may be (NULL: none); slots
       that have some at random (NULL: all); and whether -inf is none of them, since it is a
       probability of 0. */
    bool (*is_special)(const struct hc_draw_site *p, int slot);
    bool (*has_specials)(const struct hc_call *call, int slot);
    bool never_minus_infinity;
    bool first_row_is_finite; /* so that not every row has special numbers by chance */
    bool half_subnormal;      /* every second number of a slot of subnormals is normal */

    /* Terms that cancel: the elements that one sum runs over (NULL: the op has no sum), and values
       (NULL: pairs along `run`). The result must be little beside `size` (NULL: the sum of its
       magnitudes), unless what cancels is within. */
    struct hc_run (*run)(const struct hc_call *call, int slot);
    double (*cancelling)(const struct hc_draw_site *p, int slot, enum hc_values values);
    double (*size)(const struct hc_call *call, int64_t i);
    bool cancels_within;
    const struct hc_family_sums *sums;

    /* The op is a sum in any order: of elements, or of products. Its accumulator: NULL is fp32. */
    bool reduces;
    bool multiplies;
    enum hc_format (*accumulator)(const struct hc_call *call);

    /* border/: the extents, in the order of enum hc_extent and up to HC_EXTENT_COUNT; a shape with
       that size of one of them (NULL: a vector); and choices that meet (NULL: none), which `choose`
       makes a shape of (NULL: they are one). Each size has so many turns (0: one). */
    const struct hc_family_extent *extents;
    void (*border_shape)(enum hc_extent extent, int64_t size, int number, int64_t *d);
    const struct hc_family_choices *choices;
    void (*choose)(int64_t *d);
    int turns;

    /* Integers (integers.h): fills inputs and results; with parameters that keep integers integers
       (NULL: nothing but zeros). `element` and `integer_scalars` are for hc_integers_vector. NULL:
       border/NAME says so, unless `no_integers` says why the op needs none. Unsettled: on integers,
       too, the contract leaves more than one result. */
    bool (*integers)(struct hc_integers *z);
    const char *no_integers;
    void (*integer_parameters)(struct hc_variant *variant, int number);
    hc_family_element *element;
    void (*integer_scalars)(struct hc_integers *z);
    bool unsettled;

    /* size/: rows, up to a NULL set; the shape of the small call that a large one repeats (NULL: a
       short vector), and how (NULL: by elements); the shape as text (NULL: 2x3x4). On integers:
       random numbers say little of such a shape, since one number is made of many. NULL: no. */
    const struct hc_family_size *sizes;
    void (*small)(const union hc_params *params, int64_t *d);
    void (*layout)(const struct hc_call *call, int slot, const struct hc_tensor *small,
                   const struct hc_tensor *large, struct hc_axes *to);
    void (*write_shape)(const int64_t *d, char *text, size_t size);
    bool (*on_integers)(const int64_t *d);
    void (*also_large)(struct hc_check *check,
                       const struct hc_call *call); /* afterwards, or NULL */

    /* The cuts that make a call smaller in which one element was judged wrong (judge/cut.h), up to
       a NULL. NULL: nothing. */
    bool (*const *cuts)(struct hc_cut *cut);

    /* What a term costs in MPFR, in terms of a plain sum, and in multiplications; estimates, which
       decide how many elements are looked at. A batch norm and a loss have several operations for
       a term and a bound that follows each; so has an optimizer. 0: 1. */
    double reference_cost;
    double sample_cost;
};

/* The op's row, hc_family_NAME. */
const struct hc_family *hc_family(enum hc_op op);

/* The row of an op that a definition says: one of those in defined.c, or in transformer.c,
   options.c or general_loss.c, where these have one. */
const struct hc_family *hc_family_defined(enum hc_op op);
const struct hc_family *hc_family_transformer(enum hc_op op);
const struct hc_family *hc_family_options(enum hc_op op);
const struct hc_family *hc_family_general_loss(enum hc_op op);

/* Another row in its place, for tests; returns the one before. */
const struct hc_family *hc_family_replace(enum hc_op op, const struct hc_family *family);

#endif

/* What an element of a definition is in real numbers, and how far a right implementation may be
   from it.

   Every number that an equation computes is an enclosure (mid, rad): mid is the real number, and a
   right implementation has a number within rad of it. An operation carries the radii of its
   operands over (formula/radius.h) and adds what its own rounding costs. What an implementation may
   do, and what each freedom costs, is in this table and nowhere else; u is the unit roundoff of the
   format in which it computes, fp32 unless the tensors are fp64.

     sums in any order            (n - 1) u of the sum of the magnitudes, n terms that are there;
                                  less in a stated order
     a product, a sum of two      1 u of the result
     fused multiply-add           nothing: it leaves a rounding out
     a quotient                   2.5 u, so it may be a product with a reciprocal
     products and quotients         1.5 u a factor of a denominator but one; any value, where the
       in any grouping            product of the factors above 1, or of the reciprocals of those
                                  below it, overflows; and where a part underflows, that part
     a root                       1.5 u, so that 1/sqrt may be one function within 2 ulp
     exp, log, tanh, erf, ...     2 F u, within F ulp; exp as a power of 2 of a product: 1.25 u |x|
     a variance, by Welford         3 n u sqrt(q v) + (3 n u)^2 q + (n + 3) u v, q being the
                                  mean of the squares
     a shift                      it may be off by C, which costs C u in each difference with it
     a shift in a result          3 u of it, where it is added back
     sums over tiles, rescaled    (2 F + 1) u a tile of T terms but the first, where a shift is met
     `store`                      nothing where all that is right rounds to one number; else half an
                                  ulp of the tensors' format, as for `store?`, which may be left out
     numbers of the text          1 u, where the format does not have them

   If no operand has a radius and the result is a number of the format, sums, differences and
   products cost nothing. A sum costs nothing in any order if all its terms are multiples of a power
   of two, and their magnitudes add up to fewer of these than the format can count. 0 times a finite
   number is 0, exp(0) and cos(0) are 1, and log(1), log1p(0), tanh(0), erf(0) and sin(0) are 0, as
   C's Annex F has it. If all scores are 0, their maximum is 0. Such inputs are settled: the bits
   must be equal.

   A NaN is in no order with anything, and implementations differ in what follows: where such a
   comparison chooses, either branch is right, and NaN. A derived gradient groups its terms in one
   of many ways: where it makes NaN out of infinities, an infinity is right, too. What is computed
   from a NaN is NaN.

   If two right orders may give different infinities or NaN, the radius is infinite. An absent
   element, or the exponential of minus infinity, may be left out or be multiplied as 0; so NaN is
   right, too, where it meets an infinity. */
#ifndef HC_DEFINE_VALUE_H
#define HC_DEFINE_VALUE_H

#include "define/definition.h"
#include "reference.h"

/* How a sum of n terms is ordered: its depth, the roundings that a term takes part in at most, is n
   - 1 in any order, log2 n in pairs (rounded up), and n / B - 1 + log2 B (both rounded up) in B
   lanes that are added up in pairs, or in blocks of B terms, which are added up in pairs each. */
enum hc_sum_order { HC_SUMS_ANY, HC_SUMS_PAIRS, HC_SUMS_BLOCKS };

struct hc_freedoms {
    enum hc_format compute; /* whose u and range count */
    double ulps;            /* F */
    double shift;           /* C */
    int tile;               /* T; 0: none */
    enum hc_sum_order order;
    int block;           /* B */
    bool rounds_factors; /* of products that are summed, into this format */
    enum hc_format factors;
    bool probable; /* not what may be, but what is likely: see below */
    bool flush;    /* what is below the normal numbers may be 0, an input, too */
};

extern const struct hc_freedoms hc_usual_freedoms;

/* The probable limit, a second and tighter one inside the bound. If the roundings of a sum are
   independent errors of mean zero, a term that takes part in k of them contributes at most
   exp(lambda sqrt(k) u + k u^2) - 1 of its magnitude in place of k u / (1 - k u), except with a
   probability of 2 k exp(-lambda^2 (1 - u)^2 / 2) (Higham and Mary, 2019, theorem 3.1; as in
   src/check/bound/line.c). Lambda is such that this is less than HC_LIKELY_CHANCE in HC_LIKELY
   sums: 8.0 for 33 terms and 8.6 for 4,099. All other roundings count in full, since an
   intermediate number may be read many times. The model does not hold for sums that stagnate or
   whose terms are all alike. */
#define HC_LIKELY        0x1p30
#define HC_LIKELY_CHANCE 0x1p-10

/* Grants the freedom that a word states: "order=any", "order=pairs", "order=blocks(16)",
   "compute=FORMAT", "factors=FORMAT", "ulps=F", "shift=C", "tile=T", "flush=yes". HC_INVALID with a
   line. */
enum hc_status hc_freedoms_allow(struct hc_freedoms *freedoms, const char *word);

/* The depth of a sum of n terms, n > 0. */
double hc_freedoms_depth(const struct hc_freedoms *freedoms, int64_t n);

/* A definition with the tensors and options of one call. */
struct hc_instance {
    const struct hc_definition *definition;
    struct hc_tensor input[HC_MAX_DEFINED_TENSORS]; /* in the definition's order, with data */
    const char *option[HC_MAX_DEFINED_OPTIONS];     /* the value as a text; NULL: the default */
    enum hc_format io;                              /* of the tensors: what `store` rounds to */
    struct hc_freedoms freedoms;
    int64_t extent[HC_MAX_AXES]; /* hc_instance_bind fills it in */
    int suspect;                 /* a tensor whose equation is treated by `narrow`; 0: none */
    enum hc_optional { HC_MAY_STORE, HC_STORES, HC_STORES_NOT } optional; /* what `store?` is */
    bool
        eager; /* computed plainly (plain.h), each equation's tensor is stored, in its format or the
                    tensors', as code does it that calls an operator for each */
    bool narrow; /* the suspect is computed in the tensors' format; if false, it is stored in that
                    format once more than the text says */
};

/* Checks the inputs and options and finds the extents. HC_INVALID with a line that names what does
   not fit. */
enum hc_status hc_instance_bind(struct hc_instance *instance);

/* Whether some inputs can be bound, as far as the text's own numbers say. If not, fills in *error,
   whose place is in definition->text. */
bool hc_instance_possible(const struct hc_definition *definition, struct hc_formula_error *error);

/* The approximate number of operations for all elements of all equations. */
double hc_instance_work(const struct hc_instance *instance);

/* Evaluates integer expressions: numbers, extents, options and arithmetic on them. What depends on
   the current element comes from `place`, the indices along its axes, and from `leaf` (index
   tensors, select); without them such an expression has no value. `wrong` is NULL at first; if an
   operation is undefined, it is a sentence. No integer is beyond 2^60. */
struct hc_integers {
    const struct hc_instance *instance;
    const int64_t *place;
    bool (*leaf)(void *context, const struct hc_expression *e, int64_t *value);
    void *context;
    const char *wrong;
};
bool hc_integer_value(struct hc_integers *integers, const struct hc_expression *e, int64_t *value);

/* The shape of a tensor of the definition. */
int64_t hc_instance_count(const struct hc_instance *instance, int tensor);
struct hc_tensor hc_instance_tensor(const struct hc_instance *instance, int tensor);

struct hc_defined_value {
    struct hc_exact want; /* `magnitude` is |hi| */
    double rad;           /* infinite: any value is right */
    bool absent;          /* `where` is false, and only 0 is right */
    bool nan;             /* NaN is right, too: 0 may meet an infinity that may be left out, or a
                             NaN is compared */
    bool or_infinite;     /* `want` is NaN, and an infinity is right, too */
};

/* Evaluates elements on demand and keeps intermediate ones. One thread may use it at a time. */
struct hc_evaluator;

/* NULL with hc_message() if there is no memory. The instance must outlive the evaluator. */
struct hc_evaluator *hc_evaluator_new(const struct hc_instance *instance);
void hc_evaluator_free(struct hc_evaluator *evaluator);

/* Element `index`, row-major, of a tensor. The precision doubles until the error of `want` is below
   2^-40 of the radius, or 2^-100 of the value. HC_INVALID if that costs more than the limits below,
   HC_NO_MEMORY. */
enum hc_status hc_evaluator_element(struct hc_evaluator *evaluator, int tensor, int64_t index,
                                    struct hc_defined_value *value);

enum {
    HC_FIRST_PRECISION = 128,
    HC_LAST_PRECISION = 4096,
    HC_MAX_KEPT = 1 << 29 /* bytes of intermediate elements */
};
#define HC_MAX_OPERATIONS (INT64_C(1) << 28) /* for one element */

#endif

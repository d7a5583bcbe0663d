/* Wrappers: how a system averages gradients over ranks, as plain data.

   Apex's DistributedDataParallel, PyTorch's and FSDP differ in which gradients travel together,
   in which format they are added, and in where the sum is divided. Such a system is a row here, and
   so are its known defects; no code asks which one it is. The fields wrapper, algorithm, reduce,
   predivide and bucket of a recipe choose a row and override what that system lets a user
   override. */
#ifndef HC_TRAIN_PARALLEL_WRAPPER_H
#define HC_TRAIN_PARALLEL_WRAPPER_H

#include "op/collective.h"
#include "op/status.h"
#include "train/update/recipe.h"

/* Which gradients share a bucket. */
enum hc_bucketing {
    HC_BUCKET_OF_FORMAT, /* all of a format, in the order of the parameters */
    HC_BUCKET_AT_LEAST,  /* of a format, in the order of the backward pass: it closes when it has
                            reached its size, so that the last gradient may reach far beyond it */
    HC_BUCKET_AT_MOST,   /* the same, but closes before what it has no room for */
    HC_BUCKET_OF_LAYER   /* all of a layer and a format, in the order of the parameters */
};

/* What the size of a bucket counts. */
enum hc_bucket_unit { HC_UNIT_ELEMENTS, HC_UNIT_BYTES };

/* When the average is divided by the number n of contributions: each contribution is divided by
   some p, and the sum by n / p. */
enum hc_division {
    HC_DIVIDE_SPLIT,       /* p is `predivide` */
    HC_DIVIDE_BEFORE,      /* p is n */
    HC_DIVIDE_ROOT,        /* p is the power of two near the root of n that torch's FSDP takes */
    HC_DIVIDE_ROOT_OF_FP16 /* the same for sums in fp16; for others p is n */
};

/* What a recipe may set; 0 stands for the row's own. */
enum hc_algorithm_choice { HC_ALGORITHM_OF_WRAPPER }; /* else 1 + enum hc_collective */
enum hc_reduce_choice {
    HC_REDUCE_OF_WRAPPER,
    HC_REDUCE_GRADIENT, /* in the format that the gradients have */
    HC_REDUCE_FP32,
    HC_REDUCE_BF16,
    HC_REDUCE_FP16,
    HC_REDUCE_CHOICES
};

extern const char *const hc_wrapper_names[];   /* in the order of the rows; ends with NULL */
extern const char *const hc_algorithm_names[]; /* wrapper, tree, ... */
extern const char *const hc_reduce_names[];    /* wrapper, gradient, fp32, ... */

struct hc_wrapper {
    const char *name;
    const char *title;
    const char *source;
    const char *defects; /* what is known to be wrong with it, or NULL */

    enum hc_bucketing bucketing;
    enum hc_bucket_unit unit;
    int64_t first_bucket; /* size of each format's first bucket */
    int64_t bucket;       /* size of all others */

    enum hc_collective algorithm;
    enum hc_reduce_choice reduce; /* never OF_WRAPPER */
    enum hc_division division;
    double predivide; /* of HC_DIVIDE_SPLIT. Apex multiplies the sum by fp32(p / n); the op by
                         fp32(1 / fp32(n / p)), which is the same where n / p is a whole number */
    bool multiplies;  /* by the reciprocal, in fp32 */
    bool copies;      /* it rounds the parameters for the network itself, and averages the gradients
                         of these copies; otherwise those of the parameters */

    unsigned reduces; /* bits 1 << enum hc_reduce_choice: what a user may ask for */
    bool predivides;  /* whether he may set predivide */
    bool sums;        /* whether he may have the sum over ranks instead of the average */
};

/* The table, halfcheck's own first. */
const struct hc_wrapper *hc_wrappers(int *n);

/* The row that the recipe names, with its overrides. The recipe is one that hc_recipe_check
   accepts. */
struct hc_wrapper hc_wrapper_of(const struct hc_recipe *recipe);

/* Why the recipe's wrapper, algorithm, reduce, predivide and bucket contradict each other or its
   other fields, or NULL. hc_recipe_check asks this. */
const char *hc_wrapper_wrong(const struct hc_recipe *recipe);

/* The format in which the system averages a gradient that the network holds in `format`: fp32 if
   parameters are fp32, the network's are rounded copies of them (autocast) and the wrapper does not
   make these itself; otherwise the same. */
enum hc_format hc_wrapper_held(const struct hc_recipe *recipe, enum hc_format format);

/* How a bucket of gradients held in `held` is averaged over `parts` contributions: the algorithm,
   the format of partial sums, the divisors. `sums`: the loss is a sum, so nothing is divided. */
struct hc_all_reduce hc_wrapper_all_reduce(const struct hc_wrapper *wrapper, enum hc_format held,
                                           int parts, bool sums);

#endif

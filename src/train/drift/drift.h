/* What a recipe's roundings do to training, measured against the same engine in fp64, and which of
   them do it.

   Two runs compare a recipe with its fp64 baseline. Teacher-forced, the recipe gets the weights of
   the baseline at every step (through fp32) and the same batch; its gradients are compared with
   those in fp64, and its own optimizer goes on with them. This shows errors before they add up.
   Free, the recipe goes its own way, and its final weights are compared with the baseline's. This
   shows how they add up. Neither run clips gradients.

   Attribution runs the baseline again with roundings put in: with the recipe's formats in one
   source at a time (alone), and in all sources but one (without). What a source rounds is cast into
   its format and back. Products, batch norm, the loss and the optimizer are carried out as a whole
   in fp32, the optimizer in the recipe's arithmetic.

   The sums of a matrix unit are a source of their own: products of 16-bit inputs as the backend
   takes them, beside sums in fp32 of the same rounded inputs. A unit takes rounded inputs alone, so
   it is measured in the recipe, and not alone in the fp64 run; and where all sources but one are
   put in, and that one leaves weights, activations or gradients unrounded, sums are in fp32.

   Ranks are a source as well, where a batch is cut into shards. Then every run here takes the same
   shards, the baseline too: each is a pass of its own with batch norm over its own images, and the
   gradient is the average over shards. So ranks of one number are compared with the fp64 run of as
   many, and what batch norm does to smaller batches is no part of the drift. The baseline adds in
   fp64, as a tree; the recipe adds with its wrapper's order, formats and divisions. Averages are
   stored as gradients of weights are, and are rounded by that source.

   In convolutions below half (train/quant/quant.h) each operand's quantisation is a source: x's,
   w's and dy's. Alone, that operand is quantised as the recipe does it, with its scales, random
   bits and transposes, decoded in fp64 and multiplied by the others in fp64. Where both operands of
   a product are codes, and the sums are put in as well, it is the recipe's own product of codes; so
   the source "accumulation" has the scales' factors and promoted sums in it. Where one of them is
   not, sums are in fp32 over the decoded numbers.

   A GPT has sources of its own instead of batch norm: the stream of sums that its blocks add to,
   attention's parts, and what else is made in one place. Roundings of what is stored are told
   apart from sums in fp32: so "sums of attention" are its scores, exponentials and sums, D = dy o
   among them, and P and dS are the weights and their gradients, which a backend stores in the
   format of q before it multiplies them, if it does. They are rounded inside of a kernel. Where
   all that a kernel takes is in that format, and its sums are put in, the kernel does it itself;
   elsewhere attention is carried out in fp64 here, and what it stores is rounded.

   With all sources the recipe itself should come out again. What is left between the two is
   measured as well, as the residual: it says how much of the drift the sources explain. It is not
   the scaler's part, because every run has the recipe's scales and leaves out the update that its
   rule would skip. */
#ifndef HC_TRAIN_DRIFT_DRIFT_H
#define HC_TRAIN_DRIFT_DRIFT_H

#include "train/data/data.h"
#include "train/net/net.h"
#include "train/update/recipe.h"

enum hc_source {
    HC_SOURCE_WEIGHTS,          /* of convolutions and the linear layer, its bias */
    HC_SOURCE_ACTIVATIONS,      /* every value of the forward pass, images included; of a GPT what
                                   has no source of its own */
    HC_SOURCE_GRADIENTS,        /* every value of the backward pass */
    HC_SOURCE_WEIGHT_GRADIENTS, /* still scaled */
    HC_SOURCE_NORM,  /* gamma, beta and their gradients; arithmetic and statistics in fp32 */
    HC_SOURCE_CODES, /* of quantised convolutions: three, in order of enum hc_quant_role */
    HC_SOURCE_ACCUMULATION = HC_SOURCE_CODES + 3, /* products and pooling: inputs, products, sums */
    HC_SOURCE_UNIT, /* products: what the backend's matrix unit does to sums */
    HC_SOURCE_LOSS, /* softmax, cross-entropy and their gradient, with the logits; of a GPT
                            without their format */

    /* Of GPTs. */
    HC_SOURCE_RESIDUAL,  /* the embedding's rows and all sums */
    HC_SOURCE_OUTPUT,    /* attention's result o */
    HC_SOURCE_P,         /* attention's weights before products, where the backend stores them */
    HC_SOURCE_DS,        /* gradients of scores before products, likewise */
    HC_SOURCE_LSE,       /* logarithms of attention's sums */
    HC_SOURCE_ATTENTION, /* scores, exponentials and sums of attention */
    HC_SOURCE_LOGITS,
    HC_SOURCE_ROW_NORM,  /* RMS norms: their weights, those' gradients, arithmetic and statistics */
    HC_SOURCE_ROTARY,    /* tables of angles, and turning by them */
    HC_SOURCE_GATED,     /* arithmetic of gated layers */
    HC_SOURCE_EMBEDDING, /* the embedding's gradient, with the head's share: formats and sums */

    HC_SOURCE_REDUCTION, /* sums and divisions of the average over ranks */
    HC_SOURCE_OPTIMIZER, /* what it gets, unscaled, and its arithmetic, the weight's last sum too */
    HC_SOURCE_STATE,     /* the optimizer's momenta, after each update; of a GPT the first ones */
    HC_SOURCE_SQUARES,   /* of a GPT: the second ones */
    HC_SOURCE_MASTER,    /* what the optimizer works on, at the start and after each update */
    HC_SOURCE_COUNT,
    HC_SOURCE_UPDATE =
        HC_SOURCE_OPTIMIZER /* from here on they touch no gradient at given weights */
};

/* Sets of sources: bit k stands for source k. */
enum { HC_ALL_SOURCES = (1 << HC_SOURCE_COUNT) - 1, HC_PASS_SOURCES = (1 << HC_SOURCE_UPDATE) - 1 };

extern const char *const hc_source_names[HC_SOURCE_COUNT];

/* Whether networks of that kind have the source. */
bool hc_source_is_of(int source, bool gpt);

/* A wrapper's choices, as a recipe has them, and the formats in which it holds gradients. Zeros: a
   tree in fp64. */
struct hc_averaging {
    int wrapper;
    int algorithm;
    int reduce;
    int bucket;
    double predivide;
    enum hc_format held[2];
};

/* How convolutions are quantised. Zeros: not at all, and filters in fp64. */
struct hc_coding {
    int row;               /* enum hc_quant_row */
    enum hc_format filter; /* in which those filters are that it quantises: as weights, or as
                               masters */
    int64_t history;       /* amax_history */
    int64_t ends;          /* plain_ends */
};

/* The format of each source, [1] for norm parameters and [0] for all else; HC_FP64 stands for no
   rounding. */
struct hc_rounding {
    enum hc_format format[HC_SOURCE_COUNT][2];
    struct hc_averaging average; /* of HC_SOURCE_REDUCTION */
    struct hc_coding coding;     /* of HC_SOURCE_CODES and, of filters, HC_SOURCE_WEIGHTS */
    enum hc_format unscaled[2];  /* of HC_SOURCE_OPTIMIZER: the gradient that it gets */
    enum hc_format start[2];     /* of HC_SOURCE_MASTER: through which masters come at the start */
};

struct hc_rounding hc_rounding_of(const struct hc_recipe *recipe, bool gpt);

/* The format of the norms' parameters, or else that of their arithmetic. */
enum hc_format hc_norm_format(const struct hc_rounding *rounding, int parameters);

/* Whether its weights are rounded stochastically or with a compensation. That is no rounding to
   nearest, so the master copy is no source then, and what it does is left in the residual. */
bool hc_rounds_otherwise(const struct hc_recipe *recipe);

/* One layer with weights, or the network (all layers): means over the steps whose gradients are
   finite, NaN if there is no such step. */
struct hc_drift_layer {
    double error;     /* |g - g64| / |g64| of weight gradients, unscaled, Euclidean norms */
    double cosine;    /* between them */
    double underflow; /* share of gradients that are 0 and not 0 in fp64 */
    double lost;      /* share of weights that the fp64 update moves and this one does not */
};

/* What quantising an operand of a layer's convolution does to it, over all of its numbers in all
   steps at the weights of fp64; NaN where none is quantised. Where products quantise it in several
   ways, this is the first one's that has it as it lies: y's of x and w, dx's of dy. */
struct hc_drift_operand {
    double error;       /* |decoded - x| / |x|, Euclidean norms */
    double at_max;      /* share of codes at the format's largest number */
    double flushed;     /* share of numbers that are not 0 and whose code is */
    double least_scale; /* by which codes are multiplied, of blocks that are not all 0 */
    double most_scale;
};

struct hc_drift {
    const struct hc_recipe *recipe;
    bool gpt;
    struct hc_drift_layer layer[HC_MAX_LAYERS];
    struct hc_drift_operand operand[HC_MAX_LAYERS][HC_QUANT_OF_DY + 1];
    struct hc_drift_layer all;
    int finite;    /* steps with finite gradients at the weights of fp64 */
    double free;   /* |w - w64| / |w64 - w at the start|, after the last step of the free run */
    double unlike; /* free run's last loss less that of fp64 */

    int ranks;  /* that share a step; 0: the batch is in one piece */
    int shards; /* into which it is cut; 1: in one piece */

    bool unit; /* Its 16-bit products are summed otherwise than those in fp32. */

    /* The gradient's error and the distance of the free run for each source; those for all sources
       together stand at [HC_SOURCE_COUNT]. What a unit does alone is NaN where the backend is
       somebody's own and does not say how its products are summed. */
    double alone_gradient[HC_SOURCE_COUNT + 1]; /* HC_SOURCE_UNIT: from all sources but it */
    double alone_free[HC_SOURCE_COUNT + 1];
    double without_gradient[HC_SOURCE_COUNT + 1];
    double without_free[HC_SOURCE_COUNT + 1];

    double average_bound; /* derived, on alone_gradient of HC_SOURCE_REDUCTION; NaN: none */

    /* The recipe against the fp64 run with all its sources, in the same units. */
    double residual_gradient;
    double residual_free;

    int64_t passes; /* with roundings, that were not known from the recipes before it */
};

/* The sources that round anything. */
uint32_t hc_drift_sources(const struct hc_drift *drift);

/* What is shared out: squares of the two numbers that the sources' table has. */
enum hc_drift_quantity {
    HC_DRIFT_OF_GRADIENT, /* among the sources before HC_SOURCE_UPDATE */
    HC_DRIFT_OF_WEIGHTS,  /* of the free run, among all sources */
    HC_DRIFT_QUANTITIES
};

enum { HC_MAX_PLAYERS = 8 };

/* Shares of the squared error that add up.

   Let v(S) be the squared error with the sources in S put into the fp64 run. A source's share is
   its Shapley value (1953): what it adds to v, on the mean over all orders in which the sources can
   be put in. No other rule has these four properties: the shares sum to v of all sources; what
   adds nothing to any S has none; two that always add the same have the same; and shares of a sum
   of squares, over steps or over seeds, are the sums of the shares.

   Why the square: were the errors vectors e_i that simply add up, v(S) would be |sum of e_i|^2, and
   the share of source i would be e_i . (the sum of all), the part of the whole error that points
   along it. Independent roundings are nearly orthogonal, and then v is the sum of the |e_i|^2. So a
   source whose error points against that of the others has a negative share.

   All subsets are run: 2^players, of which many are known. So more than HC_MAX_PLAYERS sources are
   not told apart. Then the seven that do most stand alone, and the others are put in together, as
   one player. What a source does is the larger of v of it alone and what v of all loses without it.
   A player that does little to any S moves the shares of the others by as little. */
struct hc_drift_player {
    uint32_t sources;
    double alone; /* v of it alone */
    double share;
    double error; /* standard error of share / v of all, over the steps; NaN below two */
};

struct hc_drift_shares {
    int players; /* 0: nothing rounds */
    int steps;   /* in which all subsets are finite, and which alone are shared out; of weights 1 */
    double all;  /* v of all sources, which is a square; NaN if there is no such step */
    struct hc_drift_player player[HC_MAX_PLAYERS];

    /* v of pairs alone, and their interaction: what the two make together beyond what they make
       apart, v(S with both) - v(S with one) - v(S with the other) + v(S), on the mean of Grabisch
       and Roubens (1999) over the sets S of others. Both are symmetric. */
    double pair[HC_MAX_PLAYERS][HC_MAX_PLAYERS];
    double interaction[HC_MAX_PLAYERS][HC_MAX_PLAYERS];

    int64_t passes; /* that were not known */
};

struct hc_drift_options {
    const struct hc_network *network;
    const struct hc_dataset *data;
    const struct hc_backend *backend; /* host memory, with fp64 */
    int threads;
    int batch; /* of a step, over all ranks */
    int ranks; /* that share it; 0: nothing is cut, whatever shards the recipe has */
    int steps;
    double lr; /* of every step; beta1 is 0.9 */
    uint64_t seed;
};

/* The batches, the fp64 baselines and the effects of roundings measured so far, for several
   recipes: what two of them have in common is run once. The options' data and network must outlive
   it. HC_UNSUPPORTED if the backend has no fp64 or no host memory. */
struct hc_drift_study;

enum hc_status hc_drift_open(struct hc_drift_study **study, const struct hc_drift_options *options);
void hc_drift_close(struct hc_drift_study *study); /* NULL is fine */

/* HC_INVALID if ranks, the recipe's shards and the batch do not divide each other. */
enum hc_status hc_drift_measure(struct hc_drift_study *study, const struct hc_recipe *recipe,
                                struct hc_drift *drift);

/* Shares out the drift of the recipe that was measured last, by quantity. `like`: the players are
   those of these shares, which another seed has, so that they can be compared; NULL: chosen. */
enum hc_status hc_drift_measure_shares(struct hc_drift_study *study, const struct hc_drift *drift,
                                       const struct hc_drift_shares *like,
                                       struct hc_drift_shares shares[HC_DRIFT_QUANTITIES]);

#endif

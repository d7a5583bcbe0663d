/* Networks as lists of layers, forward and backward over the op table: Darknets, which see images,
   and GPTs, which read text. */
#ifndef HC_TRAIN_NET_NET_H
#define HC_TRAIN_NET_NET_H

#include "comm/comm.h"
#include "train/net/parameter.h"
#include "train/quant/quant.h"

/* A Darknet as fastai's course builds it: conv_layer(3 -> width, k3), then a group for each entry
   of `blocks`: conv_layer(width -> 2 width, k3, its stride) and that many residual layers, then
   average pooling over what is left and a linear layer. conv_layer: convolution without bias,
   padding k/2, batch norm (eps 1e-5, momentum 0.1), leaky ReLU 0.1. Residual layer of n channels: x
   + conv_layer(n/2 -> n, k3)(conv_layer(n -> n/2, k1)(x)). */
struct hc_gpt;
struct hc_network {
    const char *name;
    const char *trains_with;  /* fields of every recipe, "beta2=0.95+clip=1"; or NULL */
    const struct hc_gpt *gpt; /* NULL: a Darknet, which the rest describes */
    int side;                 /* of the square input image */
    int channels;             /* of the input image */
    int width;                /* of the stem */
    int groups;               /* at most 8 */
    int blocks[8];
    int strides[8];
};

/* Darknet([1, 2, 2, 2, 2], nf=16) of fastai nb_004b; and [1, 1, 1], nf=4, for tests and a quick
   look. */
extern const struct hc_network hc_darknet16;
extern const struct hc_network hc_darknet_tiny;

/* A GPT in the manner of Llama: bytes are embedded; then blocks of x + projection(attention(norm
   x)) and x + down(swiglu(gate, up)(norm x)); a norm, and a head, which is the embedding where they
   are tied. Norms are RMS norms (eps 1e-5), attention is causal, of heads with rotary positions
   (halves, base 10,000), and no matrix has a bias. Matrices begin as normal numbers of deviation
   0.02, those that end a branch of 0.02 / sqrt(2 blocks). */
struct hc_gpt {
    int blocks;
    int width;
    int heads;
    int length; /* bytes that are read at once */
    int hidden; /* width between gate and down */
    bool tied;
    int epochs; /* of a training, where nobody says more */
};

/* The small one has 4 blocks, width 128 and length 128; the tiny one, for tests, 2, 32 and 16. */
extern const struct hc_network hc_gpt_small;
extern const struct hc_network hc_gpt_tiny;

enum { HC_BYTES = 256 };       /* that a GPT tells apart */
enum { HC_GPT_EMBEDDING = 0 }; /* the number of this parameter */

enum hc_layer_kind {
    HC_LAYER_CONV, /* convolution, batch norm, leaky ReLU */
    HC_LAYER_ADD,  /* value + skip */
    HC_LAYER_POOL,
    HC_LAYER_LINEAR,
    HC_LAYER_EMBED,     /* a row for each byte */
    HC_LAYER_NORM,      /* RMS norm of each row */
    HC_LAYER_ATTENTION, /* queries, keys and values, and attention of all heads */
    HC_LAYER_MATRIX,    /* without a bias */
    HC_LAYER_GATED,     /* gate and up, and swiglu of the two */
    HC_LAYER_HEAD,      /* logits by a matrix of its own */
    HC_LAYER_TIED_HEAD, /* or by the embedding's */
    HC_LAYER_KINDS
};

enum hc_conv_parameter { HC_CONV_FILTER, HC_CONV_GAMMA, HC_CONV_BETA, HC_CONV_PARAMETERS };
enum hc_conv_statistic { HC_CONV_MEAN, HC_CONV_VARIANCE, HC_CONV_STATISTICS };
enum hc_linear_parameter { HC_LINEAR_WEIGHT, HC_LINEAR_BIAS, HC_LINEAR_PARAMETERS };
enum hc_gated_parameter { HC_GATED_GATE, HC_GATED_UP, HC_GATED_PARAMETERS };

/* Layer l turns value `in` (and `skip`) into value l + 1; value 0 is the image. */
struct hc_layer {
    char name[24]; /* stem, g1.0, g1.1a, g1.1b, g1.1, ..., pool, linear; or
                      tok, 0.norm1, 0.attention, 0.proj, 0.add1, ..., norm, head */
    enum hc_layer_kind kind;
    int in;
    int skip;       /* of ADD */
    int kernel;     /* of CONV; the window of POOL */
    int stride;     /* of CONV */
    int pad;        /* of CONV */
    int side;       /* of the output image; of text 1 */
    int channels;   /* of the output */
    int parameter;  /* number of its first parameter, in the order of enum hc_conv_parameter,
                       hc_linear_parameter or hc_gated_parameter; -1: none */
    int parameters; /* how many */
    int statistic;  /* of CONV: number of its first statistic; else -1 */
    enum hc_role role[HC_CONV_PARAMETERS]; /* of each parameter, and how many elements it has */
    int64_t elements[HC_CONV_PARAMETERS];
    int64_t macs; /* of one image's forward pass, or one text's */
};

#define HC_MAX_LAYERS    64
#define HC_NORM_EPS      1e-5
#define HC_NORM_MOMENTUM 0.1
#define HC_LEAKY_SLOPE   0.1

/* A network's layers for so many classes, and its sizes. */
struct hc_plan {
    const struct hc_network *network;
    int classes;
    int places; /* at which one example has a label: 1, or each byte of a text */
    int layers;
    struct hc_layer layer[HC_MAX_LAYERS];
    int parameters;       /* tensors with a gradient */
    int statistics;       /* tensors without */
    int64_t weights;      /* elements of convolution and linear parameters */
    int64_t norm_weights; /* elements of norms' parameters */
    int64_t macs;         /* of one image's forward pass, or one text's */
};

void hc_plan_make(const struct hc_network *network, int classes, struct hc_plan *plan);

/* The layer of parameter p, and its shape: fp32, without data. */
const struct hc_layer *hc_plan_layer_of(const struct hc_plan *plan, int p);
struct hc_tensor hc_plan_parameter(const struct hc_plan *plan, int p);

struct hc_net;

/* Opens a net whose parameters are fp32 and initialised from the seed: convolution and linear
   parameters uniform in +-1/sqrt(fan in), gamma 1, beta 0, running mean 0, running variance 1.
   hc_update_open converts the parameters as a recipe says. After it, hc_net_prepare allocates
   everything that a step needs, so that steps allocate nothing. */
enum hc_status hc_net_open(struct hc_net **net, struct hc_device *device,
                           const struct hc_network *network, int classes, int batch, uint64_t seed);
void hc_net_close(struct hc_net *net); /* NULL is fine */

const struct hc_plan *hc_net_plan(const struct hc_net *net);

/* Trainable parameters, plan->parameters of them, in the order of the layers; and statistics. */
struct hc_parameter *const *hc_net_parameters(const struct hc_net *net);
struct hc_parameter *const *hc_net_statistics(const struct hc_net *net);

/* The formats of a network under a recipe (hc_recipe_numerics). */
struct hc_net_numerics {
    enum hc_format format;               /* of weights, activations and gradients */
    enum hc_format statistics;           /* of running mean and variance */
    enum hc_format loss;                 /* in which the loss is held */
    bool statistics_rounded;             /* statistics pass through `format` at the start */
    bool tf32;                           /* products may take fp32 inputs as tf32 */
    bool sum_loss;                       /* over the batch, instead of the mean */
    const struct hc_quant_recipe *quant; /* of all convolutions but the first, or all
 matrices but embedding and head; NULL: none */
    int64_t amax_history;                /* for it; 0: its own */
    int plain_ends;                      /* blocks at either end that are not quantised */
};

/* This is called before hc_net_prepare: batch norm is then over the batches of all ranks
   (norm_sync.c), each of which trains the same network, and training passes are collective, and
   wait. NULL, the default: it is over the net's own batch. */
void hc_net_share(struct hc_net *net, struct hc_comm *comm);

/* Converts the statistics and allocates activations and the buffers of the backward pass.
   `gradients` are plan->parameters tensors of the parameters' shapes and formats in the backend's
   memory (hc_update_tensor(..., HC_STATE_GRADIENT, i)). */
enum hc_status hc_net_prepare(struct hc_net *net, struct hc_net_numerics numerics,
                              const struct hc_tensor *gradients);

/* Sets what is quantised as filters: plan->parameters tensors of the parameters' shapes, in the
   backend's memory, for as long as the net is used. The default is the parameters. */
void hc_net_quantise_from(struct hc_net *net, const struct hc_tensor *weights);

/* The quantised convolutions, or NULL if none are. */
struct hc_quant *hc_net_quant(const struct hc_net *net);

/* Whether the products of layer l are quantised where anything is: those of all convolutions but
   the first, or of a GPT's blocks, less `plain_ends` convolutions or blocks at either end. */
bool hc_plan_quantises(const struct hc_plan *plan, int l, int plain_ends);

/* Quantises convolutions by that row from the next pass on, with fresh states; NULL: not at all. */
enum hc_status hc_net_requantise(struct hc_net *net, const struct hc_quant_recipe *recipe,
                                 int64_t amax_history, int plain_ends);

/* The number of layer l's first product among those that are quantised; -1 if it has none. A gated
   layer has two, one behind the other. */
int hc_net_quant_of(const struct hc_net *net, int l);

/* Sets the batch that all passes read from now on, in the backend's memory: images [batch, side,
   side, channels] in the net's format, labels i32 [batch]; of a GPT texts i32 [batch * length], and
   as many labels. */
void hc_net_feed(struct hc_net *net, struct hc_tensor images, struct hc_tensor labels);

/* Queue the passes of hc_net_train and hc_net_infer, and wait for nothing but other ranks. `loss`
   and `right` are fp32 [1] in the backend's memory; the loss is mean or sum as the recipe says,
   rounded to the format that it holds it in. Training writes them to hc_net_loss and
   hc_net_right. */
enum hc_status hc_net_queue_train(struct hc_net *net, const struct hc_tensor *scale);
enum hc_status hc_net_queue_infer(struct hc_net *net, int count, struct hc_tensor loss,
                                  struct hc_tensor right);
struct hc_tensor hc_net_loss(const struct hc_net *net);
struct hc_tensor hc_net_right(const struct hc_net *net);

/* While statistics are held, passes with batch statistics do not change the running ones.
   HC_NO_MEMORY, at the first call. */
enum hc_status hc_net_hold_statistics(struct hc_net *net, bool holds);

/* A loss as above, as the mean over its `count` images. */
float hc_net_mean_loss(const struct hc_net *net, float loss, int count);

/* One forward pass with batch statistics, which updates the running ones, and one backward pass
   with the gradients of loss * scale.
     images  fp32 [batch, side, side, channels], in host memory; of a GPT texts, i32 [batch, length]
     labels  i32 [batch], in host memory; of a GPT the byte after each, [batch, length]
     scale   fp32 [1], in the backend's memory
     *loss   the loss, unscaled, as the mean over the labels, rounded as the recipe holds it
     *right  how many rows have their largest logit at their label, as xent counts them */
enum hc_status hc_net_train(struct hc_net *net, const void *images, const int32_t *labels,
                            const struct hc_tensor *scale, float *loss, int *right);

/* Sees the gradient of each output of a layer with parameters, during every backward pass. 
   */
typedef void hc_gradient_watch(void *context, int layer, const struct hc_tensor *dy);
void hc_net_watch(struct hc_net *net, hc_gradient_watch *watch, void *context);

/* Sees what each layer got and made during every backward pass, when it has run: the gradient of
   its output, and of its convolution's output (of CONV; else NULL). The next layer overwrites both.
   Another status than HC_OK ends the pass. NULL ends the trace. */
typedef enum hc_status hc_layer_trace(void *context, int layer, const struct hc_tensor *dy,
                                      const struct hc_tensor *dconv);
void hc_net_trace(struct hc_net *net, hc_layer_trace *trace, void *context);

/* Sees what a GPT's layers make on the way to their outputs during every pass, forward and
   backward, as PREFIX LAYER SUFFIX of docs/step-files.md: "activations." and ".q". Another status
   than HC_OK ends the pass. NULL ends the trace. */
typedef enum hc_status hc_inner_trace(void *context, int layer, const char *prefix,
                                      const char *suffix, const struct hc_tensor *t);
void hc_net_trace_inside(struct hc_net *net, hc_inner_trace *trace, void *context);

/* One forward pass with running statistics. Loss and right are of the first `count` images. */
enum hc_status hc_net_infer(struct hc_net *net, const void *images, const int32_t *labels,
                            int count, float *loss, int *right);

/* Value v of the last pass: value 0 is the image, value l + 1 the output of layer l. The last one
   is the logits. */
struct hc_tensor hc_net_value(const struct hc_net *net, int v);

/* What a CONV layer keeps of the last forward pass with batch statistics: the output of its
   convolution, and the batch's mean and 1 / sqrt(variance + eps): of all ranks' batches, if they
   share batch norm. */
struct hc_tensor hc_net_conv_output(const struct hc_net *net, int l);
struct hc_tensor hc_net_batch_mean(const struct hc_net *net, int l);
struct hc_tensor hc_net_batch_invstd(const struct hc_net *net, int l);

#endif

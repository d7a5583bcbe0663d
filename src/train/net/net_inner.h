/* The inside of a net, for the files that open it and run it forward and backward. */
#ifndef HC_TRAIN_NET_NET_INNER_H
#define HC_TRAIN_NET_NET_INNER_H

#include "comm/comm.h"
#include "train/net/device.h"
#include "train/net/net.h"

/* Batch norm over the batches of all ranks.

   A call of bn_train or bn_bwd, with leaky ReLU or without, is run in parts (op/norm.h): each rank
   takes its own moments or sums, these go round once, and each rank finishes its own batch with
   what all have. That is PyTorch's SyncBatchNorm (v1.13.1, torch/nn/modules/_functions.py), but for
   two things: ranks exchange variances, where PyTorch exchanges 1 / sqrt(variance + eps) and takes
   the variance back out of it; and the sums of the gradient are added in the fixed tree of
   op/collective.h, so that all ranks have the same bits and every run has them, too.

   dgamma and dbeta stay sums over the rank's own batch, as PyTorch's do: whoever averages the
   gradients of a run averages these with them. */

struct hc_norm_sync;

/* What the calls may have at most. */
struct hc_norm_sync_size {
    int64_t channels;
    int64_t elements;      /* of x */
    enum hc_format format; /* of x and dy */
};

/* Allocates all that the calls below need. HC_NO_MEMORY. */
enum hc_status hc_norm_sync_open(struct hc_norm_sync **sync, struct hc_device *device,
                                 struct hc_comm *comm, const struct hc_norm_sync_size *size);
void hc_norm_sync_close(struct hc_norm_sync *sync); /* NULL is fine */

/* Collective. The call `norm` of bn_train or bn_leaky_train, whose saved statistics become those of
   all ranks' elements; *elements is how many these are. */
enum hc_status hc_norm_sync_train(struct hc_norm_sync *sync, const struct hc_call *norm,
                                  int64_t *elements);

/* Collective. The call of bn_bwd or bn_leaky_bwd that belongs to it. */
enum hc_status hc_norm_sync_bwd(struct hc_norm_sync *sync, const struct hc_call *norm,
                                int64_t elements);

/* What a GPT's layers keep of a forward pass, and what they work in. */

/* Of an attention layer: queries, keys and values as attention took them, its output before the
   heads are brought together, and the logarithm of each row's sum. Of a gated one: gate and up; of
   one with gelu: up. */
struct hc_gpt_kept {
    struct hc_storage *parts;
    struct hc_storage *o;
    struct hc_storage *lse;
    struct hc_storage *gate;
    struct hc_storage *up;
};

enum { HC_GPT_WORK = 2 };

struct hc_gpt_memory {
    struct hc_gpt_kept kept[HC_MAX_LAYERS];
    struct hc_storage *work[HC_GPT_WORK]; /* of 3 * rows * width, or of rows * hidden, elements */
    struct hc_storage *cosines;           /* [length, d] */
    struct hc_storage *sines;
    struct hc_storage *negated; /* sines */
    struct hc_storage *places;  /* of all bytes of all texts, i32 */
    struct hc_storage *share;   /* of the embedding's gradient, where it is also the head's */
};

enum {
    HC_MAX_PARAMETERS = 3 * HC_MAX_LAYERS,
    HC_MAX_STATISTICS = 2 * HC_MAX_LAYERS,
    HC_WIDE_LOSS = 0,
    HC_WIDE_RIGHT,
    HC_WIDE_SCALE,
    HC_WIDE_COUNT,
    HC_GRADIENT_BUFFERS = 3 /* one for a layer's incoming gradient, one for its outgoing gradient,
                               and one that waits where a branch has more than two layers */
};

/* What each layer keeps of the forward pass. */
struct hc_kept {
    struct hc_storage *value;  /* its output */
    struct hc_storage *conv;   /* CONV: before batch norm */
    struct hc_storage *mean;   /* CENTRED: of each row */
    struct hc_storage *invstd; /* NORM: 1 / root of the mean square, CENTRED: 1 / deviation */
    int64_t elements;          /* of all ranks, if they share batch norm */
};

struct hc_net {
    struct hc_device *device;
    struct hc_plan plan;
    int batch;
    struct hc_net_numerics numerics;
    struct hc_parameter parameter[HC_MAX_PARAMETERS];
    struct hc_parameter statistic[HC_MAX_STATISTICS];
    struct hc_parameter *parameters[HC_MAX_PARAMETERS];
    struct hc_parameter *statistics[HC_MAX_STATISTICS];
    struct hc_tensor gradient[HC_MAX_PARAMETERS];

    void *images; /* the batch that the passes read: value 0 */
    struct hc_tensor labels;
    struct hc_storage
        *image; /* the batch of hc_net_train, in fp32; `input` is in the net's format */
    struct hc_storage *input;
    struct hc_storage *own_labels;
    struct hc_storage *report;      /* loss and right */
    struct hc_storage *wide_report; /* loss, right and scale of a net in fp64, else NULL */
    struct hc_storage *loss_held;   /* in the recipe's format; NULL where that is fp32 */
    struct hc_comm *comm;           /* of ranks that share batch norm, or NULL */
    struct hc_norm_sync *norm_sync; /* NULL without it */
    struct hc_storage *ones;        /* [1, batch]: ones x dy is the bias' gradient */
    struct hc_kept kept[HC_MAX_LAYERS];
    struct hc_quant *quant;                        /* or NULL */
    struct hc_tensor quantised[HC_MAX_PARAMETERS]; /* filters: without data, the parameter's own */
    struct hc_gpt_memory *gpt;                     /* or NULL */
    bool holds_statistics;
    struct hc_storage *unread; /* takes new statistics while the old are held; or NULL */

    /* Backward: the buffer of each value's gradient, and whether a layer adds to the gradient of
       its input, because a skip has written it before. */
    struct hc_storage *buffers[HC_GRADIENT_BUFFERS];
    struct hc_storage *added;       /* what a layer adds to the gradient of its input */
    struct hc_storage *before_conv; /* gradient of a layer's convolution output */
    hc_gradient_watch *watch;       /* or NULL */
    void *watch_context;
    hc_layer_trace *trace; /* or NULL */
    void *trace_context;
    hc_inner_trace *inside; /* or NULL */
    void *inside_context;
    int buffer_of[HC_MAX_LAYERS + 1];
    bool adds[HC_MAX_LAYERS];
};

/* A value's shape around `data`; logits are [batch, classes], and a GPT's values [batch * length,
   channels], of which the first is i32 [batch * length]. */
struct hc_tensor hc_net_shaped(const struct hc_net *net, int v, enum hc_format format, void *data);

/* Appends a layer on the value before it, and counts what it has. A kernel's border is half of it.
   What is 0 is as in that value. */
#if defined(__GNUC__)
__attribute__((format(printf, 6, 7)))
#endif
void hc_plan_append(struct hc_plan *plan, enum hc_layer_kind kind, int kernel, int stride,
                    int channels, const char *name, ...);

/* Allocates *storage. After a failure, which it remembers in *status, it does nothing any more. */
void hc_net_make(struct hc_net *net, enum hc_status *status, struct hc_storage **storage,
                 enum hc_format format, int64_t n);

/* The gradient of value v, while the backward pass is at its layers. */
struct hc_tensor hc_net_value_gradient(const struct hc_net *net, int v);

/* The tensor into which layer l puts the gradient of its input; the second function adds that to
   what a skip has put there. */
struct hc_tensor hc_net_share_of(const struct hc_net *net, int l);
enum hc_status hc_net_add_share(struct hc_net *net, int l);

/* out = op(a) op(b), as the network's recipe multiplies. */
enum hc_status hc_net_multiply(struct hc_net *net, bool transpose_a, struct hc_tensor a,
                               bool transpose_b, struct hc_tensor b, struct hc_tensor out);

/* The two passes of a kind of layer. */
struct hc_layer_pass {
    enum hc_status (*forward)(struct hc_net *net, int l, bool training);
    enum hc_status (*backward)(struct hc_net *net, int l);
};

/* GPTs (gpt.c): the layers, how a matrix begins, the memory that hc_net_prepare asks for, and the
   passes. */
void hc_gpt_plan(const struct hc_gpt *gpt, struct hc_plan *plan);
enum hc_status hc_gpt_begin(const struct hc_gpt *gpt, bool ends_branch, uint64_t seed, int index,
                            struct hc_parameter *p);
enum hc_status hc_gpt_prepare(struct hc_net *net);
void hc_gpt_close(struct hc_gpt_memory *memory); /* NULL is fine */

/* Rows of a value, the format of statistics, out = x w' of a layer's matrix p, and dw = dy' x and
   dx = dy w of it. Whoever looks on is shown what lies inside a layer. */
int64_t hc_gpt_rows(const struct hc_net *net);
enum hc_format hc_gpt_wide(const struct hc_net *net);
enum hc_status hc_gpt_multiply(struct hc_net *net, int l, int p, struct hc_tensor out);
enum hc_status hc_gpt_multiply_back(struct hc_net *net, int l, int p, struct hc_tensor dy,
                                    struct hc_tensor dx);
enum hc_status hc_gpt_show(const struct hc_net *net, int l, const char *prefix, const char *suffix,
                           struct hc_tensor t);

extern const struct hc_layer_pass hc_embed_pass;
extern const struct hc_layer_pass hc_place_pass;
extern const struct hc_layer_pass hc_norm_pass;
extern const struct hc_layer_pass hc_centred_pass;
extern const struct hc_layer_pass hc_attention_pass;
extern const struct hc_layer_pass hc_matrix_pass;
extern const struct hc_layer_pass hc_gated_pass;
extern const struct hc_layer_pass hc_gelu_pass;
extern const struct hc_layer_pass hc_tied_head_pass;

/* Filter p as the quantised convolutions take it. */
struct hc_tensor hc_net_filter(const struct hc_net *net, int p);

#endif

/* Batch norm, losses and tables of integers. */
#include <stdlib.h>

#include "check/generate/integers.h"

/* The rows of a channel are split into groups of three with the deviations 1, 1, -2 and groups of
   four with 2, -2, 0, 0. The deviations' sum is 0, and the sum of their squares is twice their
   number: with eps = 2 the root of variance plus eps is 2. `beside` is orthogonal to the deviations
   and to 1. Every number of rows but 1, 2 and 5 can be split so. */
struct group {
    int length;
    int32_t deviation[4];
    int32_t beside[4];
};

static const struct group triple = {3, {1, 1, -2}, {1, -1, 0}};
static const struct group four = {4, {2, -2, 0, 0}, {0, 0, 1, -1}};

/* The deviation and `beside` of row `row` of `rows` in a channel. Groups of three come first, as
   many as leave a multiple of four; each channel begins elsewhere in its groups. */
static void deviation_of(int64_t row, int64_t rows, int64_t channel, int32_t *deviation,
                         int32_t *beside)
{
    int64_t threes = 3 * (3 * rows % 4);
    const struct group *g = row < threes ? &triple : &four;
    int64_t at = ((row < threes ? row : row - threes) + channel) % g->length;
    *deviation = g->deviation[at];
    *beside = g->beside[at];
}

/* A channel's numbers, none of them 0. */
struct channel {
    int32_t mean;
    int32_t gain; /* even */
    int32_t offset;
    int32_t mean_dy;
    int32_t slope_dy;
};

static struct channel channel_of(const struct hc_integers *z, int64_t c)
{
    return (struct channel){hc_integers_draw(z, 1, c, 5), 2 * hc_integers_draw(z, 2, c, 4),
                            hc_integers_draw(z, 3, c, 9), hc_integers_draw(z, 4, c, 3),
                            hc_integers_draw(z, 5, c, 3)};
}

static int32_t leaky(bool leaks, int32_t x)
{
    return leaks && x < 0 ? x / 2 : x; /* the slope is a half */
}

/* Forward: y = deviation / 2 gain + offset, even where it will be halved. */
static void forward(struct hc_integers *z, bool leaks, bool trains)
{
    const struct hc_call *call = &z->call;
    int64_t channels = call->in[HC_BN_X].shape[3];
    int64_t n = hc_tensor_count(&call->in[HC_BN_X]);
    int64_t rows = n / channels;
    for (int64_t i = 0; i < n; i++) {
        struct channel c = channel_of(z, i % channels);
        int32_t deviation;
        int32_t beside;
        deviation_of(i / channels, rows, i % channels, &deviation, &beside);
        z->value[HC_BN_X][i] = c.mean + deviation;
        z->want[HC_BN_Y][i] = leaky(leaks, deviation * c.gain + 2 * c.offset);
    }
    for (int64_t i = 0; i < channels; i++) {
        struct channel c = channel_of(z, i);
        z->value[HC_BN_GAMMA][i] = 2 * c.gain;
        z->value[HC_BN_BETA][i] = 2 * c.offset;
        z->value[HC_BN_MEAN][i] = trains ? 3 : c.mean;
        z->value[HC_BN_VARIANCE][i] = 2;
        if (!trains)
            continue;
        z->want[HC_BN_SAVED_MEAN][i] = z->want[HC_BN_NEW_MEAN][i] = c.mean;
        z->want[HC_BN_SAVED_INVSTD][i] = 0.5;
        z->want[HC_BN_NEW_VARIANCE][i] = 2 * (double)rows / (double)(rows - 1);
    }
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++)
        hc_integers_set(z, slot, 1);
}

/* Backward, with invstd 1, so that xhat is the deviation d. For dy = b + c d + e, with e beside d
   and 1,
     sum dy = M b, sum dy d = 2 M c, dx = gain (dy - b - 2 c d) = gain (e - c d).
   Leaky: y is positive where its gradient stays, and dy is doubled where it will be halved. */
static void backward(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    bool leaks = s->y >= 0;
    int64_t channels = call->in[s->x].shape[3];
    int64_t n = hc_tensor_count(&call->in[s->x]);
    int64_t rows = n / channels;
    for (int64_t i = 0; i < n; i++) {
        struct channel c = channel_of(z, i % channels);
        int32_t d;
        int32_t e;
        deviation_of(i / channels, rows, i % channels, &d, &e);
        int32_t y = hc_integers_draw(z, 6, i, 8);
        z->value[s->x][i] = c.mean + d;
        if (leaks)
            z->value[s->y][i] = y;
        z->value[s->dy][i] = (leaks && y < 0 ? 2 : 1) * (c.mean_dy + c.slope_dy * d + e);
        if (s->dx >= 0)
            z->want[s->dx][i] = c.gain * (e - c.slope_dy * d);
    }
    for (int64_t i = 0; i < channels; i++) {
        struct channel c = channel_of(z, i);
        if (s->gamma >= 0)
            z->value[s->gamma][i] = c.gain;
        z->value[s->mean][i] = c.mean;
        z->value[s->invstd][i] = 1;
        if (s->dgamma >= 0) {
            z->want[s->dgamma][i] = 2 * (double)rows * c.slope_dy;
            z->want[s->dbeta][i] = (double)rows * c.mean_dy;
        } else {
            z->value[HC_BN_BWD_APPLY_MEAN_DGAMMA][i] = 2 * c.slope_dy;
            z->value[HC_BN_BWD_APPLY_MEAN_DBETA][i] = c.mean_dy;
        }
    }
    for (int slot = 0; slot < hc_ops[call->op].inputs; slot++)
        hc_integers_set(z, slot, 1);
}

/* The moments of such a channel. */
static void moments(struct hc_integers *z)
{
    const struct hc_tensor *x = &z->call.in[HC_BN_MOMENTS_X];
    int64_t channels = x->shape[3];
    int64_t n = hc_tensor_count(x);
    for (int64_t i = 0; i < n; i++) {
        int32_t deviation;
        int32_t beside;
        deviation_of(i / channels, n / channels, i % channels, &deviation, &beside);
        z->value[HC_BN_MOMENTS_X][i] = channel_of(z, i % channels).mean + deviation;
    }
    for (int64_t i = 0; i < channels; i++) {
        z->want[HC_BN_MOMENTS_MEAN][i] = channel_of(z, i).mean;
        z->want[HC_BN_MOMENTS_VARIANCE][i] = 2;
    }
    hc_integers_set(z, HC_BN_MOMENTS_X, 1);
}

/* Ranks whose means are such a channel, each with the variance 12 and equally many elements: with
   eps = 2 the root is 4. */
static void combine(struct hc_integers *z)
{
    enum { SHARE = 5, WITHIN = 12, AMONG = 2 };
    const struct hc_tensor *means = &z->call.in[HC_BN_COMBINE_MEANS];
    int64_t channels = means->shape[3];
    int64_t n = hc_tensor_count(means);
    int64_t ranks = n / channels;
    double all = SHARE * (double)ranks;
    for (int64_t i = 0; i < n; i++) {
        int32_t deviation;
        int32_t beside;
        deviation_of(i / channels, ranks, i % channels, &deviation, &beside);
        z->value[HC_BN_COMBINE_MEANS][i] = channel_of(z, i % channels).mean + deviation;
        z->value[HC_BN_COMBINE_VARIANCES][i] = WITHIN;
        z->value[HC_BN_COMBINE_COUNTS][i / channels] = SHARE;
    }
    for (int64_t i = 0; i < channels; i++) {
        double mean = channel_of(z, i).mean;
        z->value[HC_BN_COMBINE_MEAN][i] = 3;
        z->value[HC_BN_COMBINE_VARIANCE][i] = 2;
        z->want[HC_BN_COMBINE_SAVED_MEAN][i] = z->want[HC_BN_COMBINE_NEW_MEAN][i] = mean;
        z->want[HC_BN_COMBINE_SAVED_VARIANCE][i] = WITHIN + AMONG;
        z->want[HC_BN_COMBINE_SAVED_INVSTD][i] = 0.25;
        z->want[HC_BN_COMBINE_NEW_VARIANCE][i] = (WITHIN + AMONG) * all / (all - 1);
    }
    for (int slot = 0; slot < hc_ops[z->call.op].inputs; slot++)
        hc_integers_set(z, slot, 1);
}

/* Sums of rows times 2 * 3 * 6 (dy d) stay below 2^24. */
bool hc_integers_norm(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    int64_t channels = call->in[HC_BN_X].shape[3];
    int64_t rows = hc_tensor_count(&call->in[HC_BN_X]) / channels;
    bool leaks = call->op == HC_OP_bn_leaky_train || call->op == HC_OP_bn_leaky_infer;
    if (rows < 9 || rows > 1 << 18)
        return false;
    switch (call->op) {
    case HC_OP_bn_bwd:
    case HC_OP_bn_leaky_bwd:
    case HC_OP_bn_bwd_sums:
    case HC_OP_bn_bwd_apply:
        backward(z);
        return true;
    case HC_OP_bn_moments:
        moments(z);
        return true;
    case HC_OP_bn_combine:
        combine(z);
        return true;
    default:
        forward(z, leaks, call->op == HC_OP_bn_train || call->op == HC_OP_bn_leaky_train);
        return true;
    }
}

/* The logit of one class is 0, and those of the others are -1024 or less, so that their
   exponentials are 0 in fp64: the softmax is 1 there and 0 elsewhere, and the loss of a row is how
   far its label's logit lies below 0. The first labels are those that a signed byte, a byte or a
   table's end would spoil. Sums of losses are multiples of 1024 below 2^34, which are exact in
   fp32. */
enum { STEP = 1024 };

static int32_t label_of(const struct hc_integers *z, int64_t row, int64_t classes)
{
    const int64_t special[] = {0, classes - 1, 127, 128, 255, 256};
    if (row < 6 && special[row] < classes)
        return (int32_t)special[row];
    return abs(hc_integers_draw(z, 4, row, (int32_t)classes)) - 1;
}

bool hc_integers_loss(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    int64_t rows = call->in[HC_XENT_LOGITS].shape[0];
    int64_t classes = call->in[HC_XENT_LOGITS].shape[1];
    bool back = call->op == HC_OP_xent_bwd;
    double count = call->params.xent.sum ? 1 : (double)rows;
    double upstream = back ? 3 * count : 1;
    int64_t loss = 0;
    int64_t right = 0;
    for (int64_t row = 0; row < rows; row++) {
        int32_t label = label_of(z, row, classes);
        bool hit = row % 3 == 0;
        int64_t top = hit ? label : (label + 1) % classes;
        hc_tensor_set(&call->in[HC_XENT_LABELS], row, label);
        for (int64_t j = 0; j < classes; j++) {
            int64_t at = row * classes + j;
            z->value[HC_XENT_LOGITS][at] = j == top ? 0 : -abs(hc_integers_draw(z, 0, at, 4));
            if (back)
                z->want[HC_XENT_DLOGITS][at] = 3 * ((j == top) - (j == label));
        }
        loss -= (int64_t)STEP * z->value[HC_XENT_LOGITS][row * classes + label];
        right += label == top;
    }
    hc_integers_set(z, HC_XENT_LOGITS, STEP);
    if (back)
        hc_tensor_set(&call->in[HC_XENT_UPSTREAM], 0, upstream);
    if (back)
        return true;
    z->want[HC_XENT_LOSS][0] = (double)loss / count;
    z->want[HC_XENT_CORRECT][0] = (double)right;
    return true;
}

/* rates and step_log, with counts of steps at the end of the table, in its middle, and beyond it:
   rates stay at the last row, the log begins again. */
bool hc_integers_table(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_tensor *counts =
        &call->in[call->op == HC_OP_step_log ? HC_STEP_LOG_COUNTS : HC_RATES_COUNTS];
    const struct hc_tensor *table = &call->in[HC_FIRST];
    bool log = call->op == HC_OP_step_log;
    int64_t rows = table->shape[0];
    int64_t columns = table->shape[1];
    const int64_t choice[] = {rows - 1, rows / 2, rows, 2 * rows + 1};
    int64_t steps = choice[z->number % 4];
    int64_t row = log ? steps % rows : steps < rows ? steps : rows - 1;
    const int32_t *in_row = z->value[HC_FIRST] + row * columns;
    for (int64_t i = 0; i < rows * columns; i++) {
        z->value[HC_FIRST][i] = hc_integers_draw(z, 0, i, 200);
        if (log)
            z->want[HC_STEP_LOG_NEW_ROWS][i] = z->value[HC_FIRST][i];
    }
    hc_integers_set(z, HC_FIRST, 1);
    for (int i = 0; i < HC_COUNTS; i++)
        hc_tensor_set(counts, i, 0);
    hc_tensor_set(counts, HC_COUNT_STEPS, (double)steps);
    hc_tensor_set(counts, HC_COUNT_TAKEN, 41);
    for (int i = 0; i < HC_STEP_LOG_COLUMNS && log; i++) {
        hc_tensor_set(&call->in[HC_STEP_LOG_SCALARS + i], 0, 1000 + i);
        z->want[HC_STEP_LOG_NEW_ROWS][row * columns + i] = 1000 + i;
    }
    if (log)
        return true;
    z->want[HC_RATES_HYPER][HC_HYPER_LR] = in_row[HC_TABLE_LR];
    z->want[HC_RATES_HYPER][HC_HYPER_BETA1] = in_row[HC_TABLE_BETA1];
    z->want[HC_RATES_HYPER][HC_HYPER_STEP] = 42;
    return true;
}

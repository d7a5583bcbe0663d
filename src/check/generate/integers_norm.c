/* Batch norm, losses and tables of integers. */
#include <stdlib.h>

#include "check/generate/integers.h"

/* The rows of a channel part into groups of three with the deviations 1, 1, -2 and of four with 2,
   -2, 0, 0, so that their sum is 0 and the sum of their squares twice their number: with eps = 2
   the root of variance and eps is 2. `beside` is orthogonal to both the deviations and 1, `most`
   rows is any number but 1, 2, 5. */
struct group {
    int length;
    int32_t deviation[4];
    int32_t beside[4];
};

static const struct group triple = {3, {1, 1, -2}, {1, -1, 0}};
static const struct group four = {4, {2, -2, 0, 0}, {0, 0, 1, -1}};

/* The deviation, and what is beside it, of row `row` of `rows` in a channel: groups of three come
   first, as many as leave a multiple of four, and are turned another way in each channel. */
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
    int64_t channels = call->in[0].shape[3];
    int64_t n = hc_tensor_count(&call->in[0]);
    int64_t rows = n / channels;
    for (int64_t i = 0; i < n; i++) {
        struct channel c = channel_of(z, i % channels);
        int32_t deviation;
        int32_t beside;
        deviation_of(i / channels, rows, i % channels, &deviation, &beside);
        z->value[0][i] = c.mean + deviation;
        z->want[0][i] = leaky(leaks, deviation * c.gain + 2 * c.offset);
    }
    for (int64_t i = 0; i < channels; i++) {
        struct channel c = channel_of(z, i);
        z->value[1][i] = 2 * c.gain;
        z->value[2][i] = 2 * c.offset;
        z->value[3][i] = trains ? 3 : c.mean;
        z->value[4][i] = 2;
        for (int o = 1; o < 5 && trains; o++)
            z->want[o][i] = o == 2 ? 0.5 : o == 4 ? 2 * (double)rows / (double)(rows - 1) : c.mean;
    }
    for (int slot = 0; slot < 5; slot++)
        hc_integers_put(z, slot, 1);
}

/* Backward, with invstd 1, so that xhat is the deviation d: for dy = b + c d + e, e beside d and 1,
     sum dy = M b, sum dy d = 2 M c, dx = gain (dy - b - 2 c d) = gain (e - c d).
   Leaky: y is positive where its gradient is to stay, and dy twice where it is to be halved. */
static void backward(struct hc_integers *z, bool leaks)
{
    const struct hc_call *call = &z->call;
    int64_t channels = call->in[0].shape[3];
    int64_t n = hc_tensor_count(&call->in[0]);
    int64_t rows = n / channels;
    int dy = leaks ? 2 : 1;
    for (int64_t i = 0; i < n; i++) {
        struct channel c = channel_of(z, i % channels);
        int32_t d;
        int32_t e;
        deviation_of(i / channels, rows, i % channels, &d, &e);
        int32_t y = hc_integers_draw(z, 6, i, 8);
        z->value[0][i] = c.mean + d;
        if (leaks)
            z->value[1][i] = y;
        z->value[dy][i] = (leaks && y < 0 ? 2 : 1) * (c.mean_dy + c.slope_dy * d + e);
        z->want[0][i] = c.gain * (e - c.slope_dy * d);
    }
    for (int64_t i = 0; i < channels; i++) {
        struct channel c = channel_of(z, i);
        z->value[dy + 1][i] = c.gain;
        z->value[dy + 2][i] = c.mean;
        z->value[dy + 3][i] = 1;
        z->want[1][i] = 2 * (double)rows * c.slope_dy;
        z->want[2][i] = (double)rows * c.mean_dy;
    }
    for (int slot = 0; slot < dy + 4; slot++)
        hc_integers_put(z, slot, 1);
}

/* Sums of rows times 2 * 3 * 6 (dy d) stay below 2^24. */
bool hc_integers_norm(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    int64_t channels = call->in[0].shape[3];
    int64_t rows = hc_tensor_count(&call->in[0]) / channels;
    bool leaks = call->op == HC_OP_bn_leaky_train || call->op == HC_OP_bn_leaky_infer ||
                 call->op == HC_OP_bn_leaky_bwd;
    if (rows < 9 || rows > 1 << 18)
        return false;
    if (call->op == HC_OP_bn_bwd || call->op == HC_OP_bn_leaky_bwd)
        backward(z, leaks);
    else
        forward(z, leaks, call->op == HC_OP_bn_train || call->op == HC_OP_bn_leaky_train);
    return true;
}

/* Logits 0 at one class and -1024 or less at the others, whose exponentials are 0 in fp64: the
   softmax is 1 there and 0 elsewhere, and the loss of a row is what its label lies below. Labels
   are those that a signed byte, a byte and a table's end would spoil, then any. Sums of losses are
   multiples of 1024 below 2^34: exact in fp32. */
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
    int64_t rows = call->in[0].shape[0];
    int64_t classes = call->in[0].shape[1];
    bool back = call->op == HC_OP_xent_bwd;
    double count = call->params.xent.sum ? 1 : (double)rows;
    double upstream = back ? 3 * count : 1;
    int64_t loss = 0;
    int64_t right = 0;
    for (int64_t row = 0; row < rows; row++) {
        int32_t label = label_of(z, row, classes);
        bool hit = row % 3 == 0;
        int64_t top = hit ? label : (label + 1) % classes;
        hc_tensor_set(&call->in[1], row, label);
        for (int64_t j = 0; j < classes; j++) {
            int64_t at = row * classes + j;
            z->value[0][at] = j == top ? 0 : -abs(hc_integers_draw(z, 0, at, 4));
            if (back)
                z->want[0][at] = 3 * ((j == top) - (j == label));
        }
        loss -= (int64_t)STEP * z->value[0][row * classes + label];
        right += label == top;
    }
    hc_integers_put(z, 0, STEP);
    if (back)
        hc_tensor_set(&call->in[2], 0, upstream);
    else
        z->want[0][0] = (double)loss / count;
    if (!back)
        z->want[1][0] = (double)right;
    return true;
}

/* Steps that stand at the end of the table, in its middle, and behind it: rates stay at the last
   row, the journal begins again. */
bool hc_integers_table(struct hc_integers *z)
{
    enum { COLUMNS = 4 };
    const struct hc_call *call = &z->call;
    int64_t rows = call->in[0].shape[0];
    int64_t columns = call->in[0].shape[1];
    const int64_t choice[] = {rows - 1, rows / 2, rows, 2 * rows + 1};
    int64_t steps = choice[z->number % 4];
    int64_t row = call->op == HC_OP_step_log ? steps % rows : steps < rows ? steps : rows - 1;
    for (int64_t i = 0; i < rows * columns; i++) {
        z->value[0][i] = hc_integers_draw(z, 0, i, 200);
        if (call->op == HC_OP_step_log)
            z->want[0][i] = z->value[0][i];
    }
    hc_integers_put(z, 0, 1);
    for (int i = 0; i < HC_COUNTS; i++)
        hc_tensor_set(&call->in[1], i, 0);
    hc_tensor_set(&call->in[1], HC_COUNT_STEPS, (double)steps);
    hc_tensor_set(&call->in[1], HC_COUNT_TAKEN, 41);
    for (int i = 0; i < COLUMNS && call->op == HC_OP_step_log; i++) {
        hc_tensor_set(&call->in[2 + i], 0, 1000 + i);
        z->want[0][row * columns + i] = 1000 + i;
    }
    for (int i = 0; i < 3 && call->op == HC_OP_rates; i++)
        z->want[0][i] = i < 2 ? z->value[0][row * columns + i] : 42;
    return true;
}

/* Batch norm. Rows are (n, h, w), columns are channels. Rows are cut into chunks that fit a
   second-level cache; every chunk's sums are kept apart and combined in order, in fp64.

   Mean and variance need one journey through memory: a chunk is read twice while it is in the cache,
   for its own mean p (any value near it would do: what follows is exact in p), then for
   r = sum (x - p) and q = sum (x - p)^2. Over the chunks of n rows, with the mean m,
     m = sum (n p + r) / M,     sum (x - m)^2 = sum (q + 2 (p - m) r + n (p - m)^2),
   where q and the last term are not negative and r is no more than the rounding errors of p: nothing
   cancels that does not in the two passes of the definition. */
#include <math.h>
#include <string.h>

#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/load.h"

/* Elements of a chunk and of a block (what is converted at a time), the most chunks, and the arrays
   of a chunk and of the whole. */
enum { CHUNK = 32768, BLOCK = 4096, MOST_CHUNKS = 64, CHUNK_ARRAYS = 3, WHOLE_ARRAYS = 5 };

/* Columns are lanes: where `together` rows fill HC_LANES they are read as one, lane j being channel
   j % channels; otherwise lanes are channels. */
struct cut {
    int64_t rows;
    int64_t channels;
    int64_t together;
    int64_t lanes;
    int64_t block; /* rows of a block */
    int64_t chunk; /* rows of a chunk */
    int64_t chunks;
};

static int64_t at_least_one(int64_t n)
{
    return n > 0 ? n : 1;
}

static int64_t rounded_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static struct cut cut_of(const struct hc_tensor *x)
{
    struct cut c = {.channels = x->shape[x->rank - 1], .together = 1};
    c.rows = hc_tensor_count(x) / at_least_one(c.channels);
    if (c.channels && HC_LANES % c.channels == 0)
        c.together = HC_LANES / c.channels;
    c.lanes = c.together * c.channels;
    c.block = at_least_one(BLOCK / at_least_one(c.lanes)) * c.together;
    int64_t share = (c.rows + MOST_CHUNKS - 1) / MOST_CHUNKS;
    int64_t fit = CHUNK / at_least_one(c.channels);
    c.chunk = rounded_up(at_least_one(share > fit ? share : fit), c.block);
    c.chunks = (c.rows + c.chunk - 1) / c.chunk;
    return c;
}

static bool fits(const struct cut *c)
{
    return c->lanes <= BLOCK;
}

/* The i-th set of columns of `rows` rows that lie one after the other: their first element and lane.
   False when there is none. */
struct strip {
    struct hc_host_rows rows;
    int64_t at;
    int64_t lane;
};

static bool strip_of(const struct cut *c, int64_t rows, int i, struct strip *s)
{
    if (c->together == 1) {
        int64_t first = (int64_t)i * HC_LANES;
        int64_t left = c->channels - first;
        *s = (struct strip){
            {rows, c->channels, left < HC_LANES ? (int)left : HC_LANES}, first, first};
        return left > 0;
    }
    int64_t whole = rows / c->together;
    int rest = (int)((rows - whole * c->together) * c->channels);
    *s = i == 0 ? (struct strip){{whole, HC_LANES, HC_LANES}, 0, 0}
                : (struct strip){{1, HC_LANES, rest}, whole * HC_LANES, 0};
    return i == 0 || (i == 1 && rest > 0);
}

/* One chunk's sums, by lane: the chunk's mean and the sums of the comment above, or in the backward
   pass the sums of dy and dy * xhat. */
struct sums {
    float *mean;
    float *first;
    float *second;
};

static struct sums sums_of(const struct cut *c, float *scratch, int64_t chunk)
{
    float *mine = scratch + (WHOLE_ARRAYS + CHUNK_ARRAYS * chunk) * c->lanes;
    return (struct sums){mine, mine + c->lanes, mine + 2 * c->lanes};
}

static void clear(const struct cut *c, float *lane)
{
    memset(lane, 0, (size_t)c->lanes * sizeof *lane);
}

/* Adds up the lanes of each channel, in order; afterwards every lane has its channel's sum. */
static void fold(const struct cut *c, float *lane)
{
    for (int64_t j = c->channels; j < c->lanes; j++)
        lane[j % c->channels] += lane[j];
    for (int64_t j = c->channels; j < c->lanes; j++)
        lane[j] = lane[j % c->channels];
}

static int64_t rows_of(const struct cut *c, int64_t chunk)
{
    int64_t left = c->rows - chunk * c->chunk;
    return left < c->chunk ? left : c->chunk;
}

/* Rows of the block at row `done` of `rows`. */
static int64_t block_rows(const struct cut *c, int64_t done, int64_t rows)
{
    return rows - done < c->block ? rows - done : c->block;
}

static void chunk_statistics(const struct hc_queue *queue, const struct hc_tensor *x,
                             const struct cut *c, float *scratch, int64_t chunk)
{
    const struct hc_host_loops *loops = queue->loops;
    struct sums s = sums_of(c, scratch, chunk);
    int64_t rows = rows_of(c, chunk);
    int64_t first = chunk * c->chunk;
    float room[BLOCK];
    struct strip t;
    clear(c, s.mean);
    clear(c, s.first);
    clear(c, s.second);
    for (int64_t n, done = 0; done < rows; done += n) {
        n = block_rows(c, done, rows);
        const float *values =
            hc_host_view(queue, x, (first + done) * c->channels, n * c->channels, room);
        for (int i = 0; strip_of(c, n, i, &t); i++)
            loops->columns(t.rows, values + t.at, s.mean + t.lane);
    }
    fold(c, s.mean);
    for (int64_t j = 0; j < c->lanes; j++)
        s.mean[j] /= (float)rows;
    for (int64_t n, done = 0; done < rows; done += n) {
        n = block_rows(c, done, rows);
        const float *values =
            hc_host_view(queue, x, (first + done) * c->channels, n * c->channels, room);
        for (int i = 0; strip_of(c, n, i, &t); i++)
            loops->squares(t.rows, values + t.at, s.mean + t.lane, s.first + t.lane,
                           s.second + t.lane);
    }
    fold(c, s.first);
    fold(c, s.second);
}

/* Mean and sum of squares about it of channel j. Where a chunk's mean is infinite its r means
   nothing. */
static void combine(const struct cut *c, float *scratch, int64_t j, double *mean, double *squares)
{
    double sum = 0;
    for (int64_t k = 0; k < c->chunks; k++) {
        struct sums s = sums_of(c, scratch, k);
        sum += (double)rows_of(c, k) * (double)s.mean[j];
        sum += isfinite(s.mean[j]) ? (double)s.first[j] : 0;
    }
    *mean = sum / (double)c->rows;
    *squares = 0;
    for (int64_t k = 0; k < c->chunks; k++) {
        struct sums s = sums_of(c, scratch, k);
        double off = (double)s.mean[j] - *mean;
        *squares +=
            (double)s.second[j] + 2 * off * (double)s.first[j] + (double)rows_of(c, k) * off * off;
    }
}

/* The whole's arrays, by lane. */
struct whole {
    float *mean;
    float *invstd;
    float *gain;
    float *shift;
    float *slope;
};

static struct whole whole_of(const struct cut *c, float *scratch)
{
    return (struct whole){scratch, scratch + c->lanes, scratch + 2 * c->lanes,
                          scratch + 3 * c->lanes, scratch + 4 * c->lanes};
}

static struct hc_host_norm norm_at(const struct whole *w, int64_t lane)
{
    return (struct hc_host_norm){w->mean + lane, w->invstd + lane, w->gain + lane, w->shift + lane,
                                 w->slope + lane};
}

static void normalize(struct hc_queue *queue, const struct hc_call *call, const struct cut *c,
                      const struct whole *w)
{
    const struct hc_tensor *x = &call->in[0];
    const struct hc_tensor *y = &call->out[0];
    bool small = c->rows * c->channels <= HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (!small)
    for (int64_t row = 0; row < c->rows; row += c->block) {
        float room[2][BLOCK];
        struct strip t;
        int64_t n = block_rows(c, row, c->rows);
        int64_t at = row * c->channels;
        const float *from = hc_host_view(queue, x, at, n * c->channels, room[0]);
        float *to = hc_host_target(y, at, room[1]);
        for (int i = 0; strip_of(c, n, i, &t); i++) {
            struct hc_host_norm norm = norm_at(w, t.lane);
            queue->loops->normalize(t.rows, from + t.at, &norm, to + t.at);
        }
        hc_host_flush(queue, y, at, n * c->channels, to);
    }
}

static float at(const struct hc_tensor *t, int64_t j)
{
    return hc_load(t->format, t->data, j);
}

static void put(const struct hc_tensor *t, int64_t j, float value)
{
    hc_store(t->format, t->data, j, value);
}

/* Statistics of channel j, and the running ones. */
static void settle(const struct hc_call *call, const struct cut *c, struct whole *w, int64_t j,
                   double mean, double squares)
{
    float momentum = (float)call->params.bn.momentum;
    double var = squares / (double)c->rows;
    float unbiased = (float)(squares / (double)(c->rows > 1 ? c->rows - 1 : c->rows));
    float old_mean = at(&call->in[3], j);
    float old_var = at(&call->in[4], j);
    w->mean[j] = (float)mean;
    w->invstd[j] = (float)(1 / sqrt(var + (double)(float)call->params.bn.eps));
    put(&call->out[1], j, w->mean[j]);
    put(&call->out[2], j, w->invstd[j]);
    put(&call->out[3], j, old_mean + momentum * (w->mean[j] - old_mean));
    put(&call->out[4], j, old_var + momentum * (unbiased - old_var));
}

/* Gives every lane what its channel has. */
static void spread(const struct cut *c, const struct whole *w)
{
    float *arrays[] = {w->mean, w->invstd, w->gain, w->shift, w->slope};
    for (int i = 0; i < WHOLE_ARRAYS; i++)
        for (int64_t j = c->channels; j < c->lanes; j++)
            arrays[i][j] = arrays[i][j % c->channels];
}

enum hc_status hc_host_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[0];
    struct cut c = cut_of(x);
    if (!fits(&c))
        return hc_exact_bn_train(queue, call);
    struct whole w = whole_of(&c, call->scratch);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (c.chunks > 1)
    for (int64_t k = 0; k < c.chunks; k++)
        chunk_statistics(queue, x, &c, call->scratch, k);
    for (int64_t j = 0; j < c.channels; j++) {
        double mean;
        double squares;
        combine(&c, call->scratch, j, &mean, &squares);
        settle(call, &c, &w, j, mean, squares);
        w.gain[j] = at(&call->in[1], j);
        w.shift[j] = at(&call->in[2], j);
        w.slope[j] = 0;
    }
    spread(&c, &w);
    normalize(queue, call, &c, &w);
    return HC_OK;
}

enum hc_status hc_host_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    float eps = (float)call->params.bn.eps;
    struct cut c = cut_of(&call->in[0]);
    if (!fits(&c))
        return hc_exact_bn_infer(queue, call);
    struct whole w = whole_of(&c, call->scratch);
    for (int64_t j = 0; j < c.channels; j++) {
        w.mean[j] = at(&call->in[3], j);
        w.invstd[j] = 1 / sqrtf(at(&call->in[4], j) + eps);
        w.gain[j] = at(&call->in[1], j);
        w.shift[j] = at(&call->in[2], j);
        w.slope[j] = 0;
    }
    spread(&c, &w);
    normalize(queue, call, &c, &w);
    return HC_OK;
}

static void chunk_gradients(const struct hc_queue *queue, const struct hc_call *call,
                            const struct cut *c, const struct whole *w, int64_t chunk)
{
    struct sums s = sums_of(c, call->scratch, chunk);
    int64_t rows = rows_of(c, chunk);
    float room[2][BLOCK];
    struct strip t;
    clear(c, s.first);
    clear(c, s.second);
    for (int64_t n, done = 0; done < rows; done += n) {
        n = block_rows(c, done, rows);
        int64_t first = (chunk * c->chunk + done) * c->channels;
        const float *x = hc_host_view(queue, &call->in[0], first, n * c->channels, room[0]);
        const float *dy = hc_host_view(queue, &call->in[1], first, n * c->channels, room[1]);
        for (int i = 0; strip_of(c, n, i, &t); i++) {
            struct hc_host_norm norm = norm_at(w, t.lane);
            queue->loops->products(t.rows, x + t.at, dy + t.at, &norm, s.first + t.lane,
                                   s.second + t.lane);
        }
    }
    fold(c, s.first);
    fold(c, s.second);
}

static void gradient(struct hc_queue *queue, const struct hc_call *call, const struct cut *c,
                     const struct whole *w)
{
    bool small = c->rows * c->channels <= HC_HOST_SMALL;
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (!small)
    for (int64_t row = 0; row < c->rows; row += c->block) {
        float room[3][BLOCK];
        struct strip t;
        int64_t rows = block_rows(c, row, c->rows);
        int64_t first = row * c->channels;
        int64_t n = rows * c->channels;
        const float *x = hc_host_view(queue, &call->in[0], first, n, room[0]);
        const float *dy = hc_host_view(queue, &call->in[1], first, n, room[1]);
        float *dx = hc_host_target(&call->out[0], first, room[2]);
        for (int i = 0; strip_of(c, rows, i, &t); i++) {
            struct hc_host_norm norm = norm_at(w, t.lane);
            queue->loops->gradient(t.rows, x + t.at, dy + t.at, &norm, dx + t.at);
        }
        hc_host_flush(queue, &call->out[0], first, n, dx);
    }
}

enum hc_status hc_host_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct cut c = cut_of(&call->in[0]);
    if (!fits(&c))
        return hc_exact_bn_bwd(queue, call);
    struct whole w = whole_of(&c, call->scratch);
    for (int64_t j = 0; j < c.channels; j++) {
        w.mean[j] = at(&call->in[3], j);
        w.invstd[j] = at(&call->in[4], j);
        w.gain[j] = at(&call->in[2], j) * w.invstd[j];
        w.shift[j] = w.slope[j] = 0;
    }
    spread(&c, &w);
#pragma omp parallel for num_threads(queue->threads) schedule(static) if (c.chunks > 1)
    for (int64_t k = 0; k < c.chunks; k++)
        chunk_gradients(queue, call, &c, &w, k);
    for (int64_t j = 0; j < c.channels; j++) {
        double dbeta = 0;
        double dgamma = 0;
        for (int64_t k = 0; k < c.chunks; k++) {
            struct sums s = sums_of(&c, call->scratch, k);
            dbeta += (double)s.first[j];
            dgamma += (double)s.second[j];
        }
        w.shift[j] = (float)(dbeta / (double)c.rows);
        w.slope[j] = (float)(dgamma / (double)c.rows);
        put(&call->out[1], j, (float)dgamma);
        put(&call->out[2], j, (float)dbeta);
    }
    spread(&c, &w);
    gradient(queue, call, &c, &w);
    return HC_OK;
}

size_t hc_host_norm_scratch(const struct hc_call *call)
{
    struct cut c = cut_of(&call->in[0]);
    return (size_t)((WHOLE_ARRAYS + CHUNK_ARRAYS * c.chunks) * c.lanes) * sizeof(float);
}

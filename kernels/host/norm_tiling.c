#include "kernels/host/norm_tiling.h"

#include <omp.h>
#include <string.h>

#include "kernels/exact/exact.h"

/* Arrays of floats that each chunk has, and that all share. */
enum { CHUNK_ARRAYS = 3, SHARED_ARRAYS = 5 };

static int64_t at_least_one(int64_t n)
{
    return n > 0 ? n : 1;
}

static int64_t rounded_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

struct hc_norm_tiling hc_norm_tiling_of(const struct hc_tensor *x)
{
    struct hc_norm_tiling c = {.channels = x->shape[x->rank - 1], .interleave = 1};
    c.rows = hc_tensor_count(x) / at_least_one(c.channels);
    if (c.channels && HC_LANES % c.channels == 0)
        c.interleave = HC_LANES / c.channels;
    c.lanes = c.interleave * c.channels;
    c.block = at_least_one(HC_NORM_BLOCK / at_least_one(c.lanes)) * c.interleave;
    int64_t share = (c.rows + HC_NORM_MAX_CHUNKS - 1) / HC_NORM_MAX_CHUNKS;
    int64_t fit = HC_NORM_CHUNK / at_least_one(c.channels);
    c.chunk = rounded_up(at_least_one(share > fit ? share : fit), c.block);
    c.chunks = (c.rows + c.chunk - 1) / c.chunk;
    return c;
}

bool hc_norm_fits(const struct hc_norm_tiling *c)
{
    return c->lanes <= HC_NORM_BLOCK;
}

/* The i-th panel of `rows` consecutive rows from row `first` on; false if there is none. */
static bool norm_panel_of(const struct hc_norm_tiling *c, int64_t first, int64_t rows, int i,
                          struct hc_norm_panel *s)
{
    int64_t at = first * c->channels;
    if (c->interleave == 1) {
        int64_t lane = (int64_t)i * HC_LANES;
        int64_t left = c->channels - lane;
        *s = (struct hc_norm_panel){
            {rows, c->channels, at + lane, left < HC_LANES ? (int)left : HC_LANES}, lane};
        return left > 0;
    }
    int64_t whole = rows / c->interleave;
    int rest = (int)((rows - whole * c->interleave) * c->channels);
    *s = i == 0 ? (struct hc_norm_panel){{whole, HC_LANES, at, HC_LANES}, 0}
                : (struct hc_norm_panel){{1, HC_LANES, at + whole * HC_LANES, rest}, 0};
    return i == 0 || (i == 1 && rest > 0);
}

void hc_norm_each_panel(const struct hc_norm_tiling *c, int64_t chunk, hc_norm_work *work,
                        const void *context)
{
    int64_t rows = hc_norm_rows_of(c, chunk);
    struct hc_norm_panel panel;
    for (int64_t n, done = 0; done < rows; done += n) {
        n = hc_norm_block_rows(c, done, rows);
        for (int i = 0; norm_panel_of(c, chunk * c->chunk + done, n, i, &panel); i++)
            work(context, &panel);
    }
}

struct hc_norm_share hc_norm_share_of(const struct hc_norm_tiling *c)
{
    int64_t thread = omp_get_thread_num();
    int64_t threads = omp_get_num_threads();
    return (struct hc_norm_share){c->chunks * thread / threads, c->chunks * (thread + 1) / threads};
}

struct hc_norm_sums hc_norm_sums_of(const struct hc_norm_tiling *c, float *scratch, int64_t chunk)
{
    float *mine = scratch + (SHARED_ARRAYS + CHUNK_ARRAYS * chunk) * c->lanes;
    return (struct hc_norm_sums){mine, mine + c->lanes, mine + 2 * c->lanes};
}

void hc_norm_clear(const struct hc_norm_tiling *c, float *lane)
{
    memset(lane, 0, (size_t)c->lanes * sizeof *lane);
}

void hc_norm_sum_lanes(const struct hc_norm_tiling *c, float *lane)
{
    for (int64_t j = c->channels; j < c->lanes; j++)
        lane[j % c->channels] += lane[j];
    for (int64_t j = c->channels; j < c->lanes; j++)
        lane[j] = lane[j % c->channels];
}

int64_t hc_norm_rows_of(const struct hc_norm_tiling *c, int64_t chunk)
{
    int64_t left = c->rows - chunk * c->chunk;
    return left < c->chunk ? left : c->chunk;
}

int64_t hc_norm_block_rows(const struct hc_norm_tiling *c, int64_t done, int64_t rows)
{
    return rows - done < c->block ? rows - done : c->block;
}

struct hc_host_norm hc_norm_channels_of(const struct hc_norm_tiling *c, float *scratch)
{
    return (struct hc_host_norm){scratch, scratch + c->lanes, scratch + 2 * c->lanes,
                                 scratch + 3 * c->lanes, scratch + 4 * c->lanes};
}

struct hc_host_norm hc_norm_at(const struct hc_host_norm *w, int64_t lane)
{
    return (struct hc_host_norm){w->mean + lane, w->invstd + lane, w->gain + lane, w->shift + lane,
                                 w->slope + lane};
}

void hc_norm_repeat_lanes(const struct hc_norm_tiling *c, const struct hc_host_norm *w)
{
    float *arrays[] = {w->mean, w->invstd, w->gain, w->shift, w->slope};
    for (int i = 0; i < SHARED_ARRAYS; i++)
        for (int64_t j = c->channels; j < c->lanes; j++)
            arrays[i][j] = arrays[i][j % c->channels];
}

/* How many floats all of these arrays take in the scratch. */
static int64_t norm_floats(const struct hc_norm_tiling *c)
{
    return (SHARED_ARRAYS + CHUNK_ARRAYS * c->chunks) * c->lanes;
}

size_t hc_host_norm_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_norm_tiling c = hc_norm_tiling_of(&call->in[HC_FIRST]);
    if (!hc_norm_fits(&c))
        return hc_exact_scratch(queue, call);
    return (size_t)norm_floats(&c) * sizeof(float);
}

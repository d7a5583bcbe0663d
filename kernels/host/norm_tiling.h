/* How the batch norm's tensors are cut: rows are (n, h, w), columns are channels. Chunks of rows fit a
   second-level cache and have their sums apart; blocks of rows are converted at a time. */
#ifndef HC_KERNELS_HOST_NORM_TILING_H
#define HC_KERNELS_HOST_NORM_TILING_H

#include "kernels/host/host.h"

/* Elements of a block and of a chunk, and the most chunks. */
enum { HC_NORM_BLOCK = 4096, HC_NORM_CHUNK = 32768, HC_NORM_MAX_CHUNKS = 64 };

/* Columns are lanes: where `interleave` rows fill HC_LANES they are read as one, lane j being channel
   j % channels; otherwise lanes are channels. */
struct hc_norm_tiling {
    int64_t rows;
    int64_t channels;
    int64_t interleave;
    int64_t lanes;
    int64_t block; /* rows of a block */
    int64_t chunk; /* rows of a chunk */
    int64_t chunks;
};

struct hc_norm_tiling hc_norm_tiling_of(const struct hc_tensor *x);

/* Whether a row fits a block; else the op is left to exact. */
bool hc_norm_fits(const struct hc_norm_tiling *c);

/* The i-th set of columns of `rows` rows that lie one after the other: their first element and lane.
   False when there is none. */
struct hc_norm_panel {
    struct hc_host_rows rows;
    int64_t at;
    int64_t lane;
};

bool hc_norm_panel_of(const struct hc_norm_tiling *c, int64_t rows, int i, struct hc_norm_panel *s);

/* Rows of the chunk, and of the block at row `done` of `rows`. */
int64_t hc_norm_rows_of(const struct hc_norm_tiling *c, int64_t chunk);
int64_t hc_norm_block_rows(const struct hc_norm_tiling *c, int64_t done, int64_t rows);

/* One chunk's sums, by lane: the chunk's mean and r and q of norm.c, or in the backward
   pass the sums of dy and dy * xhat. */
struct hc_norm_sums {
    float *mean;
    float *first;
    float *second;
};

struct hc_norm_sums hc_norm_sums_of(const struct hc_norm_tiling *c, float *scratch, int64_t chunk);

/* Zeros in every lane. */
void hc_norm_clear(const struct hc_norm_tiling *c, float *lane);

/* Adds up the lanes of each channel, in order; afterwards every lane has its channel's sum. */
void hc_norm_sum_lanes(const struct hc_norm_tiling *c, float *lane);

/* The whole's arrays, by lane. */
struct hc_norm_channels {
    float *mean;
    float *invstd;
    float *gain;
    float *shift;
    float *slope;
};

struct hc_norm_channels hc_norm_channels_of(const struct hc_norm_tiling *c, float *scratch);

/* How many floats all of these arrays take in the scratch. */
int64_t hc_norm_floats(const struct hc_norm_tiling *c);

/* The whole's arrays from that lane on. */
struct hc_host_norm hc_norm_at(const struct hc_norm_channels *w, int64_t lane);

/* Gives every lane what its channel has. */
void hc_norm_repeat_lanes(const struct hc_norm_tiling *c, const struct hc_norm_channels *w);

#endif

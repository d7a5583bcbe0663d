/* How batch norm divides its tensors. Rows are (n, h, w), columns are channels. A chunk of rows
   fits a second-level cache and has sums of its own. All borders depend on the shape alone. */
#ifndef HC_KERNELS_HOST_NORM_TILING_H
#define HC_KERNELS_HOST_NORM_TILING_H

#include "kernels/host/host.h"

/* Elements of a block, whose panels follow each other, and of a chunk, and how many chunks there
   are at most. */
enum { HC_NORM_BLOCK = 4096, HC_NORM_CHUNK = 32768, HC_NORM_MAX_CHUNKS = 64 };

/* Sums are kept by lane. If `interleave` rows fill HC_LANES exactly, they are read as one row,
   whose lane j belongs to channel j % channels; otherwise interleave is 1, and lanes are
   channels. */
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

/* Whether a row fits a block. If not, the op is left to exact. */
bool hc_norm_fits(const struct hc_norm_tiling *c);

/* A set of at most HC_LANES columns of some consecutive rows, with its first lane. */
struct hc_norm_panel {
    struct hc_host_rows rows;
    int64_t lane;
};

/* How many rows the chunk has, and the block at row `done` of `rows`. */
int64_t hc_norm_rows_of(const struct hc_norm_tiling *c, int64_t chunk);
int64_t hc_norm_block_rows(const struct hc_norm_tiling *c, int64_t done, int64_t rows);

/* Calls `work` for each panel of a chunk, block by block. */
typedef void hc_norm_work(const void *context, const struct hc_norm_panel *panel);
void hc_norm_each_panel(const struct hc_norm_tiling *c, int64_t chunk, hc_norm_work *work,
                        const void *context);

/* The chunks of the calling thread of a team. The second pass over a tensor begins with those that
   the first one read last, which may still be in the cache. */
struct hc_norm_share {
    int64_t first;
    int64_t end;
};
struct hc_norm_share hc_norm_share_of(const struct hc_norm_tiling *c);

/* A chunk's sums, by lane. Forward: p, r and q of norm.c. Backward: nothing, the sum of dy, and the
   sum of dy * xhat. */
struct hc_norm_sums {
    float *mean;
    float *first;
    float *second;
};

struct hc_norm_sums hc_norm_sums_of(const struct hc_norm_tiling *c, float *scratch, int64_t chunk);

/* Zeros in every lane. */
void hc_norm_clear(const struct hc_norm_tiling *c, float *lane);

/* Adds up the lanes of each channel, in order. Afterwards every lane holds its channel's sum. */
void hc_norm_sum_lanes(const struct hc_norm_tiling *c, float *lane);

/* What all chunks share, by lane. */
struct hc_host_norm hc_norm_channels_of(const struct hc_norm_tiling *c, float *scratch);

/* The same arrays from that lane on. */
struct hc_host_norm hc_norm_at(const struct hc_host_norm *w, int64_t lane);

/* Copies what the first `channels` lanes hold to the other lanes of each channel. */
void hc_norm_repeat_lanes(const struct hc_norm_tiling *c, const struct hc_host_norm *w);

#endif

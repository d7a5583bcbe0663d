/* gemm and the convolutions in fp64, as products of matrices; oneDNN has none in fp64.

   The right factor is packed into the scratch as a whole, in tiles of HC_TILE_COLUMNS columns. The
   left factor is gathered HC_TILE_ROWS rows and HC_TILE_TERMS terms at a time; for a convolution
   its rows are the patches of an image. A tile of HC_TILE_ROWS x HC_TILE_COLUMNS sums then stays in
   registers over these terms. So an element's terms are added in blocks of HC_TILE_TERMS, and the
   blocks in order, whatever the number of threads is. */
#include <math.h>

#include "kernels/conv_shape.h"
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"

struct product {
    const struct hc_call *call;
    struct hc_conv_shape shape; /* of a convolution */
    int64_t rows;
    int64_t columns;
    int64_t terms;

    /* gemm: term k of row i is left[i * left_row + k * left_term]. */
    const double *left;
    int64_t left_row;
    int64_t left_term;

    /* Term k of column j is right[k / run * outer + k % run * inner + j * across]. */
    const double *right;
    int64_t run;
    int64_t outer;
    int64_t inner;
    int64_t across;

    /* Element (i, j) of the output is out[i * out_row + j * out_column]. */
    int64_t out_row;
    int64_t out_column;

    /* Writes terms k .. k + n - 1 of a row of the left factor to elements that are HC_TILE_ROWS
       apart. */
    void (*gather)(const struct product *p, int64_t row, int64_t k, int64_t n, double *to);
};

static void gather_matrix(const struct product *p, int64_t row, int64_t k, int64_t n, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i * HC_TILE_ROWS] = p->left[row * p->left_row + (k + i) * p->left_term];
}

/* The input pixel that the tap multiplies for output pixel (n, p, q), or -1 if it is in the
   padding. */
static int64_t input_pixel(const struct hc_conv_shape *g, int64_t n, int64_t p, int64_t q,
                           int64_t tap)
{
    int64_t h = p * g->stride - g->pad + tap / g->s;
    int64_t w = q * g->stride - g->pad + tap % g->s;
    return h >= 0 && h < g->h && w >= 0 && w < g->w ? (n * g->h + h) * g->w + w : -1;
}

/* The output pixel for which the tap multiplies input pixel (n, h, w), or -1 if there is none. */
static int64_t output_pixel(const struct hc_conv_shape *g, int64_t n, int64_t h, int64_t w,
                            int64_t tap)
{
    int64_t p = h + g->pad - tap / g->s;
    int64_t q = w + g->pad - tap % g->s;
    if (p < 0 || q < 0 || p % g->stride != 0 || q % g->stride != 0)
        return -1;
    p /= g->stride;
    q /= g->stride;
    return p < g->p && q < g->q ? (n * g->p + p) * g->q + q : -1;
}

/* A row is a pixel, its terms are the taps times the channels: those of x around an output pixel,
   or those of dy around an input pixel. */
static void gather_patch(const struct product *p, int64_t row, int64_t k, int64_t n, double *to)
{
    const struct hc_conv_shape *g = &p->shape;
    bool backward = g->op == HC_OP_conv2d_bwd_data;
    int64_t channels = backward ? g->k : g->c;
    int64_t width = backward ? g->w : g->q;
    int64_t area = backward ? g->h * g->w : g->p * g->q;
    for (int64_t i = 0; i < n;) {
        int64_t tap = (k + i) / channels;
        int64_t channel = (k + i) % channels;
        int64_t last = i + channels - channel < n ? i + channels - channel : n;
        int64_t from = (backward ? output_pixel : input_pixel)(g, row / area, row % area / width,
                                                               row % width, tap);
        const double *x = p->left + from * channels + channel;
        for (; i < last; i++)
            to[i * HC_TILE_ROWS] = from < 0 ? 0 : *x++;
    }
}

/* A row is a tap and a channel of x, its terms are the output pixels. */
static void gather_tap(const struct product *p, int64_t row, int64_t k, int64_t n, double *to)
{
    const struct hc_conv_shape *g = &p->shape;
    int64_t image = k / (g->p * g->q);
    int64_t y = k / g->q % g->p;
    int64_t x = k % g->q;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = input_pixel(g, image, y, x, row / g->c);
        to[i * HC_TILE_ROWS] = from < 0 ? 0 : p->left[from * g->c + row % g->c];
        if (++x == g->q) {
            x = 0;
            image += ++y == g->p;
            y = y == g->p ? 0 : y;
        }
    }
}

static int64_t tiles(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile;
}

static void pack(const struct product *p, double *packed, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t t = 0; t < tiles(p->columns, HC_TILE_COLUMNS); t++)
        for (int64_t k = 0; k < p->terms; k++) {
            const double *from = p->right + k / p->run * p->outer + k % p->run * p->inner;
            double *to = packed + (t * p->terms + k) * HC_TILE_COLUMNS;
            for (int64_t j = 0; j < HC_TILE_COLUMNS; j++) {
                int64_t column = t * HC_TILE_COLUMNS + j;
                to[j] = column < p->columns ? from[column * p->across] : 0;
            }
        }
}

/* Adds a tile of sums to the output, or stores it if it is the first. */
static void add_tile(const struct product *p, int64_t row, int64_t column, bool first,
                     const double *sum)
{
    double *out = p->call->out[HC_FIRST].data;
    for (int64_t i = 0; i < HC_TILE_ROWS && row + i < p->rows; i++)
        for (int64_t j = 0; j < HC_TILE_COLUMNS && column + j < p->columns; j++) {
            double *to = out + (row + i) * p->out_row + (column + j) * p->out_column;
            *to = first ? sum[i * HC_TILE_COLUMNS + j] : *to + sum[i * HC_TILE_COLUMNS + j];
        }
}

static void multiply_rows(const struct hc_queue *queue, const struct product *p,
                          const double *packed, int64_t row)
{
    double left[HC_TILE_TERMS * HC_TILE_ROWS] = {0};
    double sum[HC_TILE_ROWS * HC_TILE_COLUMNS] = {0};
    for (int64_t k = 0; k < p->terms || k == 0; k += HC_TILE_TERMS) {
        int64_t n = p->terms - k < HC_TILE_TERMS ? p->terms - k : HC_TILE_TERMS;
        for (int64_t i = 0; i < HC_TILE_ROWS && row + i < p->rows; i++)
            p->gather(p, row + i, k, n, left + i);
        for (int64_t t = 0; t < tiles(p->columns, HC_TILE_COLUMNS); t++) {
            queue->loops->tile(n, left, packed + (t * p->terms + k) * HC_TILE_COLUMNS, sum);
            add_tile(p, row, t * HC_TILE_COLUMNS, k == 0, sum);
        }
    }
}

static void multiply(const struct hc_queue *queue, const struct product *p)
{
    double *packed = p->call->scratch;
    int team = hc_host_team(queue, p->rows * p->columns * p->terms);
    pack(p, packed, team);
#pragma omp parallel for num_threads(team) schedule(dynamic, 4)
    for (int64_t row = 0; row < p->rows; row += HC_TILE_ROWS)
        multiply_rows(queue, p, packed, row);
}

static struct product product_of(const struct hc_call *call)
{
    struct product p = {
        .call = call, .left = call->in[HC_FIRST].data, .right = call->in[HC_FIRST + 1].data};
    if (call->op == HC_OP_gemm) {
        const struct hc_gemm *g = &call->params.gemm;
        p.rows = call->out[HC_GEMM_OUT].shape[0];
        p.columns = call->out[HC_GEMM_OUT].shape[1];
        p.terms = call->in[HC_GEMM_A].shape[g->transpose_a ? 0 : 1];
        p.gather = gather_matrix;
        p.left_row = g->transpose_a ? 1 : p.terms;
        p.left_term = g->transpose_a ? p.rows : 1;
        p.inner = g->transpose_b ? 1 : p.columns;
        p.across = g->transpose_b ? p.terms : 1;
        p.run = p.terms;
        p.out_row = p.columns;
        p.out_column = 1;
        return p;
    }
    struct hc_conv_shape g = p.shape = hc_conv_shape_of(call);
    int64_t taps = g.r * g.s;
    bool filter = call->op == HC_OP_conv2d_bwd_filter;
    bool backward = call->op == HC_OP_conv2d_bwd_data;
    p.gather = filter ? gather_tap : gather_patch;
    p.rows = filter ? taps * g.c : backward ? g.n * g.h * g.w : g.n * g.p * g.q;
    p.columns = backward ? g.c : g.k;
    p.terms = filter ? g.n * g.p * g.q : taps * (backward ? g.k : g.c);
    p.run = backward ? g.k : p.terms;
    p.outer = g.c;
    p.inner = filter ? g.k : backward ? taps * g.c : 1;
    p.across = filter || backward ? 1 : taps * g.c;
    p.out_row = filter ? 1 : p.columns;
    p.out_column = filter ? taps * g.c : 1;
    return p;
}

/* A convolution of numbers that are not all finite goes to exact, which needs scratch of its
   own. */
size_t hc_host_product_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    struct product p = product_of(call);
    int64_t packed = tiles(p.columns, HC_TILE_COLUMNS) * HC_TILE_COLUMNS * p.terms;
    size_t bytes = (size_t)packed * sizeof(double);
    size_t exact = hc_exact_scratch(queue, call);
    return bytes > exact ? bytes : exact;
}

enum hc_status hc_host_gemm_fp64(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_gemm *g = &call->params.gemm;
    struct product p = product_of(call);
    double alpha = (double)hc_parameter(g->alpha);
    double beta = (double)hc_parameter(g->beta);
    double *out = call->out[HC_GEMM_OUT].data;
    const double *c = call->in[HC_GEMM_C].data;
    multiply(queue, &p);
    for (int64_t i = 0; i < p.rows * p.columns; i++) {
        out[i] = p.terms > 0 ? alpha * out[i] : 0;
        if (g->beta != 0)
            out[i] += beta * c[call->in[HC_GEMM_C].rank == 1 ? i % p.columns : i];
    }
    return HC_OK;
}

static bool all_finite(const struct hc_queue *queue, const struct hc_tensor *t)
{
    const double *x = t->data;
    int64_t n = hc_tensor_count(t);
    bool finite = true;
#pragma omp parallel for num_threads(queue->threads) reduction(&& : finite) if (n > HC_HOST_SMALL)
    for (int64_t i = 0; i < n; i++)
        finite = finite && isfinite(x[i]);
    return finite;
}

/* Here a tap in the padding is multiplied by zero instead of being left out. For finite numbers
   that makes no difference; others go to exact. */
enum hc_status hc_host_conv_fp64(struct hc_queue *queue, const struct hc_call *call)
{
    if (!all_finite(queue, &call->in[HC_CONV_FIRST]) ||
        !all_finite(queue, &call->in[HC_CONV_SECOND]))
        return hc_exact_run(queue, call);
    struct product p = product_of(call);
    multiply(queue, &p);
    return HC_OK;
}

#include "kernels/pairs.h"

#include <string.h>

#include "kernels/element/load.h"

/* A matrix product, or a dot as one of a row and a column. */
struct product {
    const struct hc_tensor *x, *y, *c, *out;
    int64_t m, n, k;
    int64_t x_row, x_term; /* distances in x between rows and between terms, and in y */
    int64_t y_term, y_column;
    float alpha, beta;
};

static struct product product_of(const struct hc_call *call)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *x = &call->in[HC_GEMM_A];
    struct product a = {.x = x,
                        .y = &call->in[HC_GEMM_B],
                        .out = &call->out[HC_GEMM_OUT],
                        .m = 1,
                        .n = 1,
                        .k = hc_tensor_count(x),
                        .x_term = 1,
                        .y_term = 1,
                        .alpha = 1};
    if (call->op == HC_OP_dot)
        return a;
    a.c = &call->in[HC_GEMM_C];
    a.m = a.out->shape[0];
    a.n = a.out->shape[1];
    a.k = x->shape[p->transpose_a ? 0 : 1];
    a.x_row = p->transpose_a ? 1 : a.k;
    a.x_term = p->transpose_a ? a.m : 1;
    a.y_term = p->transpose_b ? 1 : a.n;
    a.y_column = p->transpose_b ? a.k : 1;
    a.alpha = (float)p->alpha;
    a.beta = (float)p->beta;
    return a;
}

static int64_t filled_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static struct hc_pairs extents(const struct product *p, int step)
{
    return (struct hc_pairs){.rows = filled_up(p->m, HC_PAIRS_TILE),
                             .columns = filled_up(p->n, HC_PAIRS_TILE),
                             .pairs = filled_up((p->k + 1) / 2, step)};
}

size_t hc_pairs_scratch(const struct hc_call *call, int step)
{
    if (call->op != HC_OP_gemm && call->op != HC_OP_dot)
        return 0;
    struct product p = product_of(call);
    struct hc_pairs pairs = extents(&p, step);
    int64_t words = (pairs.rows + pairs.columns) * pairs.pairs + HC_PAIRS_TILE * HC_PAIRS_TILE;
    return (size_t)words * sizeof(uint32_t);
}

/* The sums come first, then a, then b: every row of 16 words is aligned to 64 bytes but a's. */
static struct hc_pairs packed(const struct product *p, int step, void *scratch)
{
    struct hc_pairs pairs = extents(p, step);
    pairs.sums = scratch;
    pairs.b = (uint32_t *)scratch + HC_PAIRS_TILE * HC_PAIRS_TILE;
    pairs.a = pairs.b + pairs.pairs * pairs.columns;
    memset(pairs.b, 0, (size_t)(pairs.pairs * (pairs.columns + pairs.rows)) * sizeof *pairs.b);
    const uint16_t *x = p->x->data;
    const uint16_t *y = p->y->data;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t k = 0; k < p->k; k++)
            pairs.a[i * pairs.pairs + k / 2] |= (uint32_t)x[i * p->x_row + k * p->x_term]
                                                << 16 * (k % 2);
    for (int64_t k = 0; k < p->k; k++)
        for (int64_t j = 0; j < p->n; j++)
            pairs.b[k / 2 * pairs.columns + j] |= (uint32_t)y[k * p->y_term + j * p->y_column]
                                                  << 16 * (k % 2);
    return pairs;
}

static int64_t c_at(const struct product *p, int64_t i, int64_t j)
{
    return p->c->rank == 1 ? j : i * p->n + j;
}

/* Whether the chains begin at C. */
static bool begins_at_c(const struct product *p)
{
    return p->k > 0 && p->alpha == 1 && p->beta == 1 && p->c->format == HC_FP32;
}

static void begin(const struct product *p, int64_t i0, int64_t j0, float *sums)
{
    memset(sums, 0, HC_PAIRS_TILE * HC_PAIRS_TILE * sizeof *sums);
    if (!begins_at_c(p))
        return;
    for (int64_t i = i0; i < i0 + HC_PAIRS_TILE && i < p->m; i++)
        for (int64_t j = j0; j < j0 + HC_PAIRS_TILE && j < p->n; j++)
            memcpy(&sums[(i - i0) * HC_PAIRS_TILE + j - j0], (float *)p->c->data + c_at(p, i, j),
                   sizeof *sums);
}

static void end(const struct product *p, int64_t i0, int64_t j0, const float *sums)
{
    for (int64_t i = i0; i < i0 + HC_PAIRS_TILE && i < p->m; i++)
        for (int64_t j = j0; j < j0 + HC_PAIRS_TILE && j < p->n; j++) {
            float sum = sums[(i - i0) * HC_PAIRS_TILE + j - j0];
            if (!begins_at_c(p)) {
                sum = p->k > 0 ? p->alpha * sum : 0;
                if (p->beta != 0)
                    sum += p->beta * hc_load(p->c->format, p->c->data, c_at(p, i, j));
            }
            hc_store(p->out->format, p->out->data, i * p->n + j, sum);
        }
}

enum hc_status hc_pairs_run(const char *backend, const struct hc_call *call, int step,
                            hc_pairs_chain *chain)
{
    bool dot = call->op == HC_OP_dot;
    if (call->in[HC_GEMM_A].format != HC_BF16 ||
        (dot && call->params.reduce.accumulator != HC_FP32))
        return hc_fail(HC_UNSUPPORTED, "%s: %s takes bf16 inputs and sums in fp32 only", backend,
                       hc_ops[call->op].name);
    struct product p = product_of(call);
    struct hc_pairs pairs = packed(&p, step, call->scratch);
    for (int64_t i = 0; i < p.m; i += HC_PAIRS_TILE)
        for (int64_t j = 0; j < p.n; j += HC_PAIRS_TILE) {
            begin(&p, i, j, pairs.sums);
            chain(&pairs, i, j);
            end(&p, i, j, pairs.sums);
        }
    return HC_OK;
}

#include "kernels/exact/testing.h"

/* Small integers: every product and sum is exact in fp32, so any order gives the integer. */
static int64_t entry(int64_t i, int64_t salt)
{
    return (i * 3 + salt * 7 + i * i % 17) % 9 - 4;
}

static struct hc_tensor integers(struct hc_tensor shape, int64_t salt)
{
    struct hc_tensor t = made(shape);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, (double)entry(i, salt));
    return t;
}

static int64_t at(const struct hc_tensor *t, int64_t i, int64_t j, int64_t k, int64_t l)
{
    return ((i * t->shape[1] + j) * t->shape[2] + k) * t->shape[3] + l;
}

/* Walks over the terms of all three convolutions: every triple of an element of x, one of w and one
   of y that belong to one product. `visit` gets their three indices. */
struct geometry {
    struct hc_tensor x, w, y;
    int stride, pad;
};

static void each_tap(const struct geometry *g,
                     void (*visit)(int64_t x, int64_t w, int64_t y, int64_t *sums), int64_t *sums)
{
    for (int64_t i = 0; i < hc_tensor_count(&g->y); i++)
        for (int64_t j = 0; j < hc_tensor_count(&g->w); j++) {
            int64_t c = j % g->w.shape[3];
            int64_t s = j / g->w.shape[3] % g->w.shape[2];
            int64_t r = j / g->w.shape[3] / g->w.shape[2] % g->w.shape[1];
            int64_t k = j / g->w.shape[3] / g->w.shape[2] / g->w.shape[1];
            int64_t q = i / g->y.shape[3] % g->y.shape[2];
            int64_t p = i / g->y.shape[3] / g->y.shape[2] % g->y.shape[1];
            int64_t n = i / g->y.shape[3] / g->y.shape[2] / g->y.shape[1];
            int64_t h = p * g->stride + r - g->pad;
            int64_t v = q * g->stride + s - g->pad;
            if (k == i % g->y.shape[3] && h >= 0 && h < g->x.shape[1] && v >= 0 &&
                v < g->x.shape[2])
                visit(at(&g->x, n, h, v, c), j, i, sums);
        }
}

static void to_y(int64_t x, int64_t w, int64_t y, int64_t *sums)
{
    sums[y] += entry(x, 1) * entry(w, 2);
}

static void to_x(int64_t x, int64_t w, int64_t y, int64_t *sums)
{
    sums[x] += entry(y, 1) * entry(w, 2);
}

static void to_w(int64_t x, int64_t w, int64_t y, int64_t *sums)
{
    sums[w] += entry(x, 1) * entry(y, 2);
}

static void hold(enum hc_op op, const struct geometry *g, struct hc_tensor in0,
                 struct hc_tensor in1, struct hc_tensor out,
                 void (*visit)(int64_t, int64_t, int64_t, int64_t *))
{
    struct hc_call call = {.op = op,
                           .in = {integers(in0, 1), integers(in1, 2)},
                           .out = {made(out)},
                           .params.conv = {.stride = g->stride, .pad = g->pad}};
    int64_t n = hc_tensor_count(&out);
    int64_t *sums = calloc((size_t)n + 1, sizeof *sums);
    each_tap(g, visit, sums);
    call_exact(&call);
    for (int64_t i = 0; i < n; i++) {
        double want = hc_round(out.format, (double)sums[i]);
        cr_assert_eq(hc_tensor_get(&call.out[HC_CONV_RESULT], i), want, "%s [%ld]: want %g, got %g",
                     hc_ops[op].name, (long)i, want, hc_tensor_get(&call.out[HC_CONV_RESULT], i));
    }
    free(sums);
}

/* n, h, w, c, k, r, s, stride, pad */
static const int shapes[][9] = {
    {2, 5, 4, 3, 16, 3, 3, 1, 1}, {1, 6, 7, 2, 5, 3, 3, 2, 1}, {2, 4, 4, 17, 18, 1, 1, 1, 0},
    {1, 7, 5, 4, 3, 2, 3, 3, 0},  {1, 3, 3, 1, 1, 3, 3, 1, 0}, {1, 2, 2, 33, 2, 3, 3, 1, 2},
    {1, 8, 8, 3, 4, 1, 1, 2, 0},  {0, 4, 4, 2, 3, 3, 3, 1, 1}, {2, 4, 4, 0, 3, 3, 3, 1, 1},
    {2, 4, 4, 3, 0, 3, 3, 1, 1},  {1, 1, 1, 2, 2, 3, 3, 1, 1}, {1, 5, 5, 2, 2, 1, 1, 1, 2},
};

Test(conv, integers_come_out_exactly_in_every_shape_and_format)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int f = 0; f < 9; f++) {
            const int *s = shapes[i];
            enum hc_format in = formats[f % 3];
            enum hc_format out = formats[f / 3];
            struct geometry g = {.stride = s[7], .pad = s[8]};
            g.x = hc_tensor4(in, s[0], s[1], s[2], s[3], NULL);
            g.w = hc_tensor4(in, s[4], s[5], s[6], s[3], NULL);
            g.y = hc_tensor4(in, s[0], (s[1] + 2 * s[8] - s[5]) / s[7] + 1,
                             (s[2] + 2 * s[8] - s[6]) / s[7] + 1, s[4], NULL);
            struct hc_tensor x = g.x;
            struct hc_tensor w = g.w;
            struct hc_tensor y = g.y;
            x.format = w.format = y.format = out;
            hold(HC_OP_conv2d, &g, g.x, g.w, y, to_y);
            hold(HC_OP_conv2d_bwd_data, &g, g.y, g.w, x, to_x);
            hold(HC_OP_conv2d_bwd_filter, &g, g.x, g.y, w, to_w);
        }
}

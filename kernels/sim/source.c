#include "kernels/sim/source.h"

#include "kernels/sim/engine.h"

/* n elements, `step` apart, as codes. */
static void copy(const struct hc_sim_source *s, int64_t at, int64_t step, int64_t n,
                 uint32_t *codes)
{
    if (s->format == HC_FP32) {
        const uint32_t *from = (const uint32_t *)s->data + at;
        for (int64_t i = 0; i < n; i++)
            codes[i] = from[i * step] & ~0x1fffu;
    } else if (s->format == HC_FP16 || s->format == HC_BF16) {
        const uint16_t *from = (const uint16_t *)s->data + at;
        for (int64_t i = 0; i < n; i++)
            codes[i] = from[i * step];
    } else {
        const uint8_t *from = (const uint8_t *)s->data + at;
        for (int64_t i = 0; i < n; i++)
            codes[i] = from[i * step];
    }
}

static void leave_out(const struct hc_sim_source *s, int64_t n, uint32_t *codes)
{
    for (int64_t i = 0; i < n; i++)
        codes[i] = s->format == HC_FP32 ? HC_SIM_ABSENT_TF32 : HC_SIM_ABSENT;
}

static void gather_matrix(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                          uint32_t *codes)
{
    copy(s, line * s->line_step + from * s->term_step, s->term_step, n, codes);
}

/* A pixel of y and the image's pixels below the filter. */
static void gather_forward(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                           uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t q = line % g->q;
    int64_t p = line / g->q % g->p;
    int64_t image = line / g->q / g->p;
    for (int64_t done = 0; done < n;) {
        int64_t tap = (from + done) / g->c;
        int64_t c = (from + done) % g->c;
        int64_t count = g->c - c < n - done ? g->c - c : n - done;
        int64_t h = p * g->stride - g->pad + tap / g->s;
        int64_t w = q * g->stride - g->pad + tap % g->s;
        if (h >= 0 && h < g->h && w >= 0 && w < g->w)
            copy(s, ((image * g->h + h) * g->w + w) * g->c + c, 1, count, codes + done);
        else
            leave_out(s, count, codes + done);
        done += count;
    }
}

/* The output row or column that the tap connects with input row or column `at`, or -1. */
static int64_t output_of(const struct hc_conv_shape *g, int64_t at, int64_t tap, int64_t extent)
{
    int64_t scaled = at + g->pad - tap;
    if (scaled < 0 || scaled % g->stride != 0 || scaled / g->stride >= extent)
        return -1;
    return scaled / g->stride;
}

/* A pixel of dx and the pixels of dy that it has a part in. */
static void gather_backward(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                            uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t w = line % g->w;
    int64_t h = line / g->w % g->h;
    int64_t image = line / g->w / g->h;
    for (int64_t done = 0; done < n;) {
        int64_t tap = (from + done) / g->k;
        int64_t k = (from + done) % g->k;
        int64_t count = g->k - k < n - done ? g->k - k : n - done;
        int64_t p = output_of(g, h, tap / g->s, g->p);
        int64_t q = output_of(g, w, tap % g->s, g->q);
        if (p >= 0 && q >= 0)
            copy(s, ((image * g->p + p) * g->q + q) * g->k + k, 1, count, codes + done);
        else
            leave_out(s, count, codes + done);
        done += count;
    }
}

/* One tap and channel over the pixels of dy, a row of them at a time. */
static void gather_taps(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                        uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t tap = line / g->c;
    for (int64_t done = 0; done < n;) {
        int64_t q = (from + done) % g->q;
        int64_t row = (from + done) / g->q;
        int64_t end = q + n - done < g->q ? q + n - done : g->q;
        int64_t h = row % g->p * g->stride - g->pad + tap / g->s;
        int64_t image = (row / g->p * g->h + h) * g->w;
        for (; q < end; q++, done++) {
            int64_t w = q * g->stride - g->pad + tap % g->s;
            if (h >= 0 && h < g->h && w >= 0 && w < g->w)
                copy(s, (image + w) * g->c + line % g->c, 1, 1, codes + done);
            else
                leave_out(s, 1, codes + done);
        }
    }
}

static void gather_filters(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                           uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t taps = g->r * g->s;
    for (int64_t done = 0; done < n;) {
        int64_t tap = (from + done) / g->k;
        int64_t k = (from + done) % g->k;
        int64_t count = g->k - k < n - done ? g->k - k : n - done;
        copy(s, (k * taps + tap) * g->c + line, taps * g->c, count, codes + done);
        done += count;
    }
}

struct hc_sim_source hc_sim_images(const struct hc_tensor *images, const struct hc_conv_shape *g)
{
    return (struct hc_sim_source){
        .format = images->format,
        .data = images->data,
        .shape = *g,
        .images = true,
        .gather = g->op == HC_OP_conv2d            ? gather_forward
                  : g->op == HC_OP_conv2d_bwd_data ? gather_backward
                                                   : gather_taps,
    };
}

struct hc_sim_source hc_sim_filters(const struct hc_tensor *filters, const struct hc_conv_shape *g)
{
    return (struct hc_sim_source){
        .format = filters->format, .data = filters->data, .shape = *g, .gather = gather_filters};
}

struct hc_sim_source hc_sim_matrix(const struct hc_tensor *matrix, int64_t line_step,
                                   int64_t term_step)
{
    return (struct hc_sim_source){.format = matrix->format,
                                  .data = matrix->data,
                                  .line_step = line_step,
                                  .term_step = term_step,
                                  .gather = gather_matrix};
}

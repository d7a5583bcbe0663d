/* A batch out of a set of images: which image, which crop was drawn for it, and the value of a
   pixel. */
#include "num/rng.h"
#include "reference/split.h"

/* The image at place i of this batch, or -1. */
static int64_t image_at(const struct hc_call *call, int64_t i)
{
    const struct hc_tensor *order = &call->in[HC_AUGMENT_ORDER];
    int64_t batch =
        (int64_t)hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0) % call->params.augment.batches;
    int64_t place = batch * call->out[HC_AUGMENT_IMAGES].shape[0] + i;
    if (place >= (order->data ? hc_tensor_count(order) : call->in[HC_AUGMENT_PIXELS].shape[0]))
        return -1;
    return order->data ? (int64_t)hc_tensor_get(order, place) : place;
}

/* One of the places 0 to 2 pad, by 24 random bits. */
static int64_t place_of(uint64_t bits, int pad)
{
    return (int64_t)((bits % (1u << 24)) * (uint64_t)(2 * pad + 1) / (1u << 24));
}

/* The coordinate in the image of coordinate i in the padded image: counting up from i = 0 it goes
   down to 0, up to the edge, and down again. */
static int64_t unpadded(int64_t i, int pad, int64_t extent)
{
    if (i < pad)
        return pad - i;
    return i < pad + extent ? i - pad : extent - 2 - (i - pad - extent);
}

static int64_t pixel_at(const struct hc_call *call, int64_t epoch, int64_t image, int64_t y,
                        int64_t x)
{
    const struct hc_augment *p = &call->params.augment;
    int64_t high = call->in[HC_AUGMENT_PIXELS].shape[1];
    int64_t wide = call->in[HC_AUGMENT_PIXELS].shape[2];
    if (p->crops) {
        uint64_t stream = ((uint64_t)'C' << 24 | 'R' << 16 | 'O' << 8 | 'P') << 32;
        uint64_t bits = hc_random(p->seed, stream + (uint64_t)epoch, (uint64_t)image);
        if (bits >> 63)
            x = wide - 1 - x;
        y = unpadded(y + place_of(bits, p->pad), p->pad, high);
        x = unpadded(x + place_of(bits >> 24, p->pad), p->pad, wide);
    }
    return (image * high + y) * wide + x;
}

/* The contract asks for fp64. MPFR at 53 bits is that as long as exponents are moderate. */
static void normalised(struct hc_exact *want, double pixel, double mean, double deviation)
{
    mpfr_t v;
    mpfr_init2(v, 53);
    mpfr_set_d(v, pixel, MPFR_RNDN);
    mpfr_div_ui(v, v, 255, MPFR_RNDN);
    mpfr_sub_d(v, v, mean, MPFR_RNDN);
    mpfr_div_d(v, v, deviation, MPFR_RNDN);
    hc_split(v, want);
    mpfr_clear(v);
}

hc_reference hc_reference_augment;
void hc_reference_augment(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    (void)precision;
    const struct hc_tensor *y = &call->out[HC_AUGMENT_IMAGES];
    int64_t steps = (int64_t)hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0);
    int64_t epoch = steps / call->params.augment.batches;
    int64_t size = y->shape[1] * y->shape[2] * 3;
    *want = (struct hc_exact){0};
    if (e->out == HC_AUGMENT_NEW_STEPS) {
        want->hi = want->magnitude = (double)(steps + 1);
        return;
    }
    int64_t image = image_at(call, e->out == HC_AUGMENT_IMAGES ? e->index / size : e->index);
    if (image < 0)
        return;
    if (e->out == HC_AUGMENT_IMAGE_LABELS) {
        want->hi = want->magnitude = hc_tensor_get(&call->in[HC_AUGMENT_LABELS], image);
        return;
    }
    int64_t c = e->index % 3;
    int64_t at = e->index % size / 3;
    int64_t pixel = pixel_at(call, epoch, image, at / y->shape[2], at % y->shape[2]);
    normalised(want, hc_tensor_get(&call->in[HC_AUGMENT_PIXELS], 3 * pixel + c),
               call->params.augment.mean[c], call->params.augment.deviation[c]);
}

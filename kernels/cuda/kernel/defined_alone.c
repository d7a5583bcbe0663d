/* Ops of definitions whose elements stand alone, a thread for each; and embedding's gradient, where
   a thread adds up what its element was given, in order. */
#include "kernels/cuda/kernel/defined.h"
#include "kernels/cuda/kernel/elements.h"

HC_ON_DEVICE void hc_dk_copy_element(const struct hc_tensor *from, int64_t i,
                                     const struct hc_tensor *to, int64_t j)
{
    if (from->format == to->format && from->format == HC_FP32)
        ((uint32_t *)to->data)[j] = ((const uint32_t *)from->data)[i];
    else if (from->format == to->format)
        ((uint16_t *)to->data)[j] = ((const uint16_t *)from->data)[i];
    else
        hc_dk_store(to, j, hc_dk_load(from, i));
}

HC_ON_DEVICE float hc_dk_logistic(float x)
{
    return 1 / (1 + expf(-x));
}

HC_ON_DEVICE float hc_dk_gelu_bend(float x)
{
    return tanhf(0.79788456080286535588f * (x + 0.044715f * (x * x * x)));
}

/* exp(-x) may overflow: x over infinity is then a zero, as x exp(x) nearly is. */
HC_ON_DEVICE void hc_dk_defined_alone_body(const struct hc_call *c)
{
    const struct hc_tensor *in = c->in;
    const struct hc_tensor *out = c->out;
    int64_t n = hc_dk_count(out);
    int64_t row = out->shape[out->rank - 1];
    for (int64_t i = hc_dk_first(); i < n; i += hc_dk_stride()) {
        float x = c->op == HC_OP_embedding ? 0 : hc_dk_load(&in[0], i);
        switch (c->op) {
        case HC_OP_gelu:
            hc_dk_store(out, i, 0.5f * x * (1 + erff(x * 0.70710678118654752440f)));
            break;
        case HC_OP_gelu_backward: { /* x: dy */
            float at = hc_dk_load(&in[HC_GELU_BWD_X], i);
            float phi = expf(-0.5f * at * at) * 0.39894228040143267794f;
            float share = 0.5f * (1 + erff(at * 0.70710678118654752440f));
            hc_dk_store(out, i, x * (share + at * phi));
            break;
        }
        case HC_OP_gelu_tanh:
            hc_dk_store(out, i, 0.5f * x * (1 + hc_dk_gelu_bend(x)));
            break;
        case HC_OP_gelu_tanh_backward: { /* x: dy */
            float at = hc_dk_load(&in[HC_GELU_BWD_X], i);
            float t = hc_dk_gelu_bend(at);
            float slope = (1 - t * t) * 0.79788456080286535588f;
            float bend = slope > 0 ? slope * (1 + 0.134145f * (at * at)) : 0;
            hc_dk_store(out, i, x * 0.5f * (1 + t + at * bend));
            break;
        }
        case HC_OP_silu:
            hc_dk_store(out, i, x / (1 + expf(-x)));
            break;
        case HC_OP_silu_backward: { /* x: dy */
            float at = hc_dk_load(&in[HC_SILU_BWD_X], i);
            float s = hc_dk_logistic(at);
            hc_dk_store(out, i, x * s * (1 + at * (1 - s)));
            break;
        }
        case HC_OP_swiglu:
            hc_dk_store(out, i, x / (1 + expf(-x)) * hc_dk_load(&in[HC_SWIGLU_UP], i));
            break;
        case HC_OP_swiglu_backward: {
            float dy = hc_dk_load(&in[HC_SWIGLU_BWD_DY], i);
            float s = hc_dk_logistic(x);
            float up = hc_dk_load(&in[HC_SWIGLU_BWD_UP], i);
            hc_dk_store(&out[HC_SWIGLU_BWD_DGATE], i, dy * up * s * (1 + x * (1 - s)));
            hc_dk_store(&out[HC_SWIGLU_BWD_DUP], i, dy * x * s);
            break;
        }
        case HC_OP_embedding: { /* a negative index gives zeros, one beyond the table a NaN */
            int64_t at = ((const int32_t *)in[HC_EMBEDDING_ID].data)[i / row];
            if (at >= 0 && at < in[HC_EMBEDDING_W].shape[0])
                hc_dk_copy_element(&in[HC_EMBEDDING_W], at * row + i % row, out, i);
            else
                hc_dk_store(out, i, at < 0 ? 0 : NAN);
            break;
        }
        case HC_OP_rotary_halves: {
            int64_t turn = i % (in->shape[1] * row);
            float z =
                i % row < row / 2 ? -hc_dk_load(in, i + row / 2) : hc_dk_load(in, i - row / 2);
            hc_dk_store(out, i,
                        x * hc_dk_load(&in[HC_ROTARY_CO], turn) +
                            z * hc_dk_load(&in[HC_ROTARY_SI], turn));
            break;
        }
        default: { /* swap_axes */
            int64_t t = in->shape[1];
            int64_t h = in->shape[2];
            int64_t from = i / row;
            int64_t to = (from / (t * h) * h + from % h) * t + from / h % t;
            hc_dk_copy_element(in, i, out, to * row + i % row);
        }
        }
    }
}
HC_LAUNCHABLE(defined_alone, struct hc_call)

HC_ON_DEVICE void hc_dk_dropout_bits_body(const struct hc_dk_dropout_bits *a)
{
    const struct hc_tensor *x = &a->call.in[HC_DROPOUT_X];
    const int32_t *bits = (const int32_t *)a->call.in[HC_DROPOUT_BITS].data;
    for (int64_t i = hc_dk_first(); i < x->shape[0]; i += hc_dk_stride())
        hc_dk_store(&a->call.out[HC_DROPOUT_Y], i,
                    bits[i] < a->threshold ? hc_dk_load(x, i) / a->kept : 0);
}
HC_LAUNCHABLE(dropout_bits, struct hc_dk_dropout_bits)

HC_ON_DEVICE void hc_dk_embedding_bwd_body(const struct hc_dk_embedding_bwd *a)
{
    const struct hc_tensor *dy = &a->call.in[HC_EMBEDDING_BWD_DY];
    const int32_t *at = (const int32_t *)a->call.in[HC_EMBEDDING_BWD_ID].data;
    const struct hc_tensor *dw = &a->call.out[HC_EMBEDDING_BWD_DW];
    int64_t n = dy->shape[1];
    for (int64_t i = hc_dk_first(); i < dw->shape[0] * n; i += hc_dk_stride()) {
        float sum = 0;
        for (int64_t t = 0; t < dy->shape[0] && i / n != a->padding; t++)
            if (at[t] == i / n)
                sum += hc_dk_load(dy, t * n + i % n);
        hc_dk_store(dw, i, sum);
    }
}
HC_LAUNCHABLE(embedding_bwd, struct hc_dk_embedding_bwd)

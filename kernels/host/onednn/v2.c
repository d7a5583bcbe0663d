/* Descriptors in oneDNN 2: they are plain structs, an operation has a descriptor of its own, and an
   iterator lists the implementations. */
#include "kernels/host/onednn/inner.h"

#if DNNL_VERSION_MAJOR == 2

static dnnl_memory_desc_t described(int64_t n, int64_t c, int64_t h, int64_t w,
                                    dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t d;
    dnnl_dims_t shape = {n, c, h, w};
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&d, 4, shape, dnnl_f32, tag);
    assert(status == dnnl_success);
    (void)status;
    return d;
}

static dnnl_primitive_desc_t choose(dnnl_engine_t engine, const dnnl_convolution_desc_t *c,
                                    const_dnnl_primitive_attr_t attributes,
                                    const_dnnl_primitive_desc_t hint)
{
    dnnl_primitive_desc_iterator_t i;
    dnnl_primitive_desc_t chosen = NULL;
    if (dnnl_primitive_desc_iterator_create(&i, c, attributes, engine, hint) != dnnl_success)
        return NULL;
    do {
        if (chosen)
            dnnl_primitive_desc_destroy(chosen);
        chosen = dnnl_primitive_desc_iterator_fetch(i);
    } while (hc_onednn_passed_over(chosen) && dnnl_primitive_desc_iterator_next(i) == dnnl_success);
    dnnl_primitive_desc_iterator_destroy(i);
    return chosen;
}

dnnl_primitive_desc_t hc_onednn_convolution(dnnl_engine_t engine, const struct hc_conv_shape *g)
{
    dnnl_memory_desc_t x = described(g->n, g->c, g->h, g->w, dnnl_nhwc);
    dnnl_memory_desc_t y = described(g->n, g->k, g->p, g->q, dnnl_nhwc);
    dnnl_memory_desc_t filter = described(g->k, g->c, g->r, g->s, dnnl_format_tag_any);
    dnnl_dims_t strides = {g->stride, g->stride};
    dnnl_dims_t pads = {g->pad, g->pad};
    dnnl_convolution_desc_t forward;
    dnnl_convolution_desc_t backward;
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t chosen = NULL;
    if (dnnl_primitive_attr_create(&attributes) != dnnl_success ||
        dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user) !=
            dnnl_success)
        goto end;
    if (dnnl_convolution_forward_desc_init(&forward, dnnl_forward_training, dnnl_convolution_direct,
                                           &x, &filter, NULL, &y, strides, pads,
                                           pads) == dnnl_success)
        chosen = choose(engine, &forward, attributes, NULL);
    if (chosen && g->op == HC_OP_conv2d_bwd_data) {
        dnnl_primitive_desc_t hint = chosen;
        chosen = NULL;
        if (dnnl_convolution_backward_data_desc_init(&backward, dnnl_convolution_direct, &x,
                                                     &filter, &y, strides, pads,
                                                     pads) == dnnl_success)
            chosen = choose(engine, &backward, attributes, hint);
        dnnl_primitive_desc_destroy(hint);
    }
end:
    dnnl_primitive_attr_destroy(attributes);
    return chosen;
}

dnnl_status_t hc_onednn_plain_filter(dnnl_memory_t *plain, dnnl_primitive_desc_t *reorder,
                                     dnnl_engine_t engine, const struct hc_conv_shape *g,
                                     dnnl_primitive_desc_t convolution)
{
    dnnl_memory_desc_t given = described(g->k, g->c, g->r, g->s, dnnl_ohwi);
    dnnl_status_t status = dnnl_memory_create(plain, &given, engine, NULL);
    if (status != dnnl_success)
        return status;
    return dnnl_reorder_primitive_desc_create(
        reorder, &given, engine,
        dnnl_primitive_desc_query_md(convolution, dnnl_query_weights_md, 0), engine, NULL);
}

#endif

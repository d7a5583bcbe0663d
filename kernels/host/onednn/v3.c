/* Descriptors in oneDNN 3: they are handles, which must be destroyed, and the descriptor of a
   primitive moves on from one implementation to the next. */
#include "kernels/host/onednn/inner.h"

#if DNNL_VERSION_MAJOR >= 3

/* Of fp32 numbers in the order of `tag`; NULL on failure. */
static dnnl_memory_desc_t described(int64_t n, int64_t c, int64_t h, int64_t w,
                                    dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t d = NULL;
    dnnl_dims_t shape = {n, c, h, w};
    return dnnl_memory_desc_create_with_tag(&d, 4, shape, dnnl_f32, tag) == dnnl_success ? d : NULL;
}

static void destroy(dnnl_memory_desc_t d)
{
    if (d)
        dnnl_memory_desc_destroy(d);
}

static void choose(dnnl_primitive_desc_t descriptor)
{
    while (hc_onednn_passed_over(descriptor) &&
           dnnl_primitive_desc_next_impl(descriptor) == dnnl_success)
        continue;
}

dnnl_primitive_desc_t hc_onednn_convolution(dnnl_engine_t engine, const struct hc_conv_shape *g)
{
    dnnl_memory_desc_t x = described(g->n, g->c, g->h, g->w, dnnl_nhwc);
    dnnl_memory_desc_t y = described(g->n, g->k, g->p, g->q, dnnl_nhwc);
    dnnl_memory_desc_t filter = described(g->k, g->c, g->r, g->s, dnnl_format_tag_any);
    dnnl_dims_t strides = {g->stride, g->stride};
    dnnl_dims_t pads = {g->pad, g->pad};
    dnnl_dims_t dense = {0, 0};
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_primitive_desc_t chosen = NULL;
    if (!x || !y || !filter || dnnl_primitive_attr_create(&attributes) != dnnl_success ||
        dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user) !=
            dnnl_success)
        goto end;
    if (dnnl_convolution_forward_primitive_desc_create(
            &chosen, engine, dnnl_forward_training, dnnl_convolution_direct, x, filter, NULL, y,
            strides, dense, pads, pads, attributes) != dnnl_success)
        chosen = NULL;
    if (chosen)
        choose(chosen);
    if (chosen && g->op == HC_OP_conv2d_bwd_data) {
        dnnl_primitive_desc_t hint = chosen; /* every next implementation reads it again */
        if (dnnl_convolution_backward_data_primitive_desc_create(
                &chosen, engine, dnnl_convolution_direct, x, filter, y, strides, dense, pads, pads,
                hint, attributes) == dnnl_success)
            choose(chosen);
        else
            chosen = NULL;
        dnnl_primitive_desc_destroy(hint);
    }
end:
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    destroy(filter);
    destroy(y);
    destroy(x);
    return chosen;
}

dnnl_status_t hc_onednn_plain_filter(dnnl_memory_t *plain, dnnl_primitive_desc_t *reorder,
                                     dnnl_engine_t engine, const struct hc_conv_shape *g,
                                     dnnl_primitive_desc_t convolution)
{
    dnnl_memory_desc_t given = described(g->k, g->c, g->r, g->s, dnnl_ohwi);
    dnnl_status_t status =
        given ? dnnl_memory_create(plain, given, engine, NULL) : dnnl_out_of_memory;
    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(
            reorder, given, engine,
            dnnl_primitive_desc_query_md(convolution, dnnl_query_weights_md, 0), engine, NULL);
    destroy(given);
    return status;
}

#endif

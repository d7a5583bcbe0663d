/* Plans: primitives for one shape. Activations are NHWC; the filter's layout is oneDNN's choice, and
   its cost, a reorder of [K, R, S, C], is a few hundredths of the convolution. */
#include <stdlib.h>
#include <string.h>

#include "kernels/host/onednn_inner.h"

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

/* The first implementation that is not "brgconv": that one multiplies one output row of an image at a
   time and falls to a third of the others' rate where rows are short. */
static dnnl_primitive_desc_t choose(dnnl_engine_t engine, const dnnl_convolution_desc_t *c,
                                    const_dnnl_primitive_attr_t attributes,
                                    const_dnnl_primitive_desc_t hint)
{
    dnnl_primitive_desc_iterator_t i;
    dnnl_primitive_desc_t chosen = NULL;
    if (dnnl_primitive_desc_iterator_create(&i, c, attributes, engine, hint) != dnnl_success)
        return NULL;
    do {
        const char *name = "";
        if (chosen)
            dnnl_primitive_desc_destroy(chosen);
        chosen = dnnl_primitive_desc_iterator_fetch(i);
        dnnl_primitive_desc_query(chosen, dnnl_query_impl_info_str, 0, (void *)&name);
        if (strncmp(name, "brgconv:", 8) != 0)
            break;
    } while (dnnl_primitive_desc_iterator_next(i) == dnnl_success);
    dnnl_primitive_desc_iterator_destroy(i);
    return chosen;
}

static dnnl_primitive_desc_t convolution(dnnl_engine_t engine, const struct hc_conv_shape *g,
                                         const dnnl_memory_desc_t *x, const dnnl_memory_desc_t *y)
{
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
                                           x, &filter, NULL, y, strides, pads,
                                           pads) == dnnl_success)
        chosen = choose(engine, &forward, attributes, NULL);
    if (chosen && g->op == HC_OP_conv2d_bwd_data) {
        dnnl_primitive_desc_t hint = chosen;
        chosen = NULL;
        if (dnnl_convolution_backward_data_desc_init(&backward, dnnl_convolution_direct, x, &filter,
                                                     y, strides, pads, pads) == dnnl_success)
            chosen = choose(engine, &backward, attributes, hint);
        dnnl_primitive_desc_destroy(hint);
    }
end:
    dnnl_primitive_attr_destroy(attributes);
    return chosen;
}

static bool make_reorder(struct hc_onednn_plan *plan, dnnl_engine_t engine,
                         const dnnl_memory_desc_t *filter)
{
    const struct hc_conv_shape *g = &plan->shape;
    dnnl_memory_desc_t plain = described(g->k, g->c, g->r, g->s, dnnl_ohwi);
    dnnl_primitive_desc_t reorder;
    if (dnnl_reorder_primitive_desc_create(&reorder, &plain, engine, filter, engine, NULL) !=
        dnnl_success)
        return false;
    bool made = dnnl_primitive_create(&plan->reorder, reorder) == dnnl_success &&
                dnnl_memory_create(&plan->plain, &plain, engine, NULL) == dnnl_success &&
                dnnl_memory_create(&plan->filter, filter, engine, NULL) == dnnl_success;
    dnnl_primitive_desc_destroy(reorder);
    plan->filter_bytes = dnnl_memory_desc_get_size(filter);
    return made;
}

static bool make_ends(struct hc_onednn_plan *plan, dnnl_engine_t engine,
                      const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                      const dnnl_memory_desc_t *pad)
{
    plan->pad_bytes = dnnl_memory_desc_get_size(pad);
    for (int i = 0; i < plan->threads; i++) {
        struct hc_onednn_ends *e = &plan->ends[i];
        if (dnnl_memory_create(&e->from, from, engine, NULL) != dnnl_success ||
            dnnl_memory_create(&e->to, to, engine, NULL) != dnnl_success ||
            dnnl_memory_create(&e->pad, pad, engine, NULL) != dnnl_success)
            return false;
    }
    return true;
}

static struct hc_onednn_plan *make(struct hc_onednn *o, const struct hc_conv_shape *g)
{
    dnnl_memory_desc_t x = described(g->n, g->c, g->h, g->w, dnnl_nhwc);
    dnnl_memory_desc_t y = described(g->n, g->k, g->p, g->q, dnnl_nhwc);
    bool backward = g->op == HC_OP_conv2d_bwd_data;
    int threads = hc_onednn_alone();
    dnnl_primitive_desc_t chosen = convolution(o->engine, g, &x, &y);
    struct hc_onednn_plan *plan =
        calloc(1, sizeof *plan + (size_t)o->threads * sizeof plan->ends[0]);
    bool made = false;
    if (!chosen || !plan)
        goto end;
    plan->shape = *g;
    plan->threads = o->threads;
    made = dnnl_primitive_create(&plan->convolution, chosen) == dnnl_success &&
           make_ends(plan, o->engine, backward ? &y : &x, backward ? &x : &y,
                     dnnl_primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0));
    /* The reorder alone is the library's to share out: it only copies. */
    hc_onednn_together(o->threads);
    made = made && make_reorder(plan, o->engine,
                                dnnl_primitive_desc_query_md(chosen, dnnl_query_weights_md, 0));
end:
    hc_onednn_together(threads);
    if (chosen)
        dnnl_primitive_desc_destroy(chosen);
    if (!made && plan)
        hc_onednn_plan_free(plan);
    return made ? plan : NULL;
}

void hc_onednn_plan_free(struct hc_onednn_plan *plan)
{
    dnnl_primitive_destroy(plan->convolution);
    dnnl_primitive_destroy(plan->reorder);
    dnnl_memory_destroy(plan->plain);
    dnnl_memory_destroy(plan->filter);
    for (int i = 0; i < plan->threads; i++) {
        dnnl_memory_destroy(plan->ends[i].from);
        dnnl_memory_destroy(plan->ends[i].to);
        dnnl_memory_destroy(plan->ends[i].pad);
    }
    free(plan);
}

struct hc_onednn_plan *hc_onednn_plan(struct hc_onednn *onednn, const struct hc_conv_shape *shape)
{
    struct hc_onednn_plan *plan = onednn->plans;
    while (plan && !hc_conv_same(&plan->shape, shape))
        plan = plan->next;
    if (plan)
        return plan;
    plan = make(onednn, shape);
    if (plan) {
        plan->next = onednn->plans;
        onednn->plans = plan;
    }
    return plan;
}

size_t hc_onednn_filter_bytes(const struct hc_onednn_plan *plan)
{
    return plan->filter_bytes;
}

size_t hc_onednn_pad_bytes(const struct hc_onednn_plan *plan)
{
    return plan->pad_bytes;
}

enum hc_status hc_onednn_reorder(struct hc_onednn *onednn, struct hc_onednn_plan *plan,
                                 const float *filter, void *to)
{
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, plan->plain}, {DNNL_ARG_TO, plan->filter}};
    dnnl_memory_set_data_handle(plan->plain, (void *)filter);
    dnnl_memory_set_data_handle(plan->filter, to);
    int threads = hc_onednn_alone();
    hc_onednn_together(onednn->threads);
    dnnl_status_t status = dnnl_primitive_execute(plan->reorder, onednn->streams[0], 2, arguments);
    hc_onednn_together(threads);
    return status == dnnl_success ? HC_OK : hc_fail(HC_DEVICE, "host: oneDNN: reorder %d", status);
}

enum hc_status hc_onednn_run(struct hc_onednn *onednn, struct hc_onednn_plan *plan, int thread,
                             const float *from, float *to, void *pad)
{
    bool backward = plan->shape.op == HC_OP_conv2d_bwd_data;
    struct hc_onednn_ends *e = &plan->ends[thread];
    dnnl_exec_arg_t arguments[] = {
        {backward ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC, e->from},
        {DNNL_ARG_WEIGHTS, plan->filter},
        {backward ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST, e->to},
        {DNNL_ARG_SCRATCHPAD, e->pad},
    };
    dnnl_memory_set_data_handle(e->from, (void *)from);
    dnnl_memory_set_data_handle(e->to, to);
    dnnl_memory_set_data_handle(e->pad, pad);
    dnnl_status_t status =
        dnnl_primitive_execute(plan->convolution, onednn->streams[thread], 4, arguments);
    return status == dnnl_success ? HC_OK
                                  : hc_fail(HC_DEVICE, "host: oneDNN: convolution %d", status);
}

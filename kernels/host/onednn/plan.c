/* Plans of convolutions.

   oneDNN works through primitives. A primitive generates code for one shape when it is made, and is
   run on memory objects whose pointers are set before each run. So a plan keeps for its shape the
   convolution, the reorder of its filter, and memory objects for each thread, and a queue keeps its
   plans in a list. Activations stay NHWC. The filter's layout is oneDNN's choice; the reorder from
   [K, R, S, C] costs a few hundredths of the convolution. Scratchpads are the caller's, since no
   kernel allocates. */
#include <stdlib.h>
#include <string.h>

#include "kernels/host/host.h"
#include "kernels/host/onednn/inner.h"

bool hc_onednn_passed_over(dnnl_primitive_desc_t descriptor)
{
    static const char *const names[] = {"brgconv:", "brg_conv_fwd:", "brgconv_strided:"};
    const char *name = "";
    dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, (void *)&name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Makes a memory object as the primitive wants it, and sets its size in bytes if `bytes` is not
   NULL. */
static bool make_memory(dnnl_memory_t *memory, dnnl_engine_t engine, dnnl_primitive_desc_t of,
                        dnnl_query_t what, size_t *bytes)
{
    if (bytes)
        *bytes = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(of, what, 0));
    return dnnl_memory_create(memory, dnnl_primitive_desc_query_md(of, what, 0), engine, NULL) ==
           dnnl_success;
}

static bool make_memories(struct hc_onednn_plan *plan, dnnl_engine_t engine,
                          dnnl_primitive_desc_t of)
{
    bool backward = plan->shape.op == HC_OP_conv2d_bwd_data;
    dnnl_query_t from = backward ? dnnl_query_diff_dst_md : dnnl_query_src_md;
    dnnl_query_t to = backward ? dnnl_query_diff_src_md : dnnl_query_dst_md;
    bool made = true;
    for (int i = 0; made && i < plan->threads; i++) {
        struct hc_onednn_memories *m = &plan->memories[i];
        made = make_memory(&m->from, engine, of, from, NULL) &&
               make_memory(&m->to, engine, of, to, NULL) &&
               make_memory(&m->pad, engine, of, dnnl_query_scratchpad_md, &plan->pad_bytes);
    }
    return made;
}

static bool make_reorder(struct hc_onednn_plan *plan, dnnl_engine_t engine,
                         dnnl_primitive_desc_t of)
{
    dnnl_primitive_desc_t reorder = NULL;
    bool made =
        make_memory(&plan->filter, engine, of, dnnl_query_weights_md, &plan->filter_bytes) &&
        hc_onednn_plain_filter(&plan->plain, &reorder, engine, &plan->shape, of) == dnnl_success &&
        dnnl_primitive_create(&plan->reorder, reorder) == dnnl_success;
    if (reorder)
        dnnl_primitive_desc_destroy(reorder);
    return made;
}

static struct hc_onednn_plan *make(struct hc_onednn *o, const struct hc_conv_shape *g)
{
    int threads = hc_onednn_single_thread();
    dnnl_primitive_desc_t chosen = hc_onednn_convolution(o->engine, g);
    struct hc_onednn_plan *plan =
        calloc(1, sizeof *plan + (size_t)o->threads * sizeof plan->memories[0]);
    bool made = false;
    if (!chosen || !plan)
        goto end;
    plan->shape = *g;
    plan->threads = o->threads;
    made = dnnl_primitive_create(&plan->convolution, chosen) == dnnl_success &&
           make_memories(plan, o->engine, chosen);
    /* The reorder alone may use all threads: it only copies. */
    hc_onednn_restore_threads(o->threads);
    made = made && make_reorder(plan, o->engine, chosen);
end:
    hc_onednn_restore_threads(threads);
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
        dnnl_memory_destroy(plan->memories[i].from);
        dnnl_memory_destroy(plan->memories[i].to);
        dnnl_memory_destroy(plan->memories[i].pad);
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
    int threads = hc_onednn_single_thread();
    if (plan->filter_bytes > HC_HOST_SMALL * sizeof(float))
        hc_onednn_restore_threads(onednn->threads);
    dnnl_status_t status = dnnl_primitive_execute(plan->reorder, onednn->streams[0], 2, arguments);
    hc_onednn_restore_threads(threads);
    return status == dnnl_success ? HC_OK : hc_fail(HC_DEVICE, "host: oneDNN: reorder %d", status);
}

enum hc_status hc_onednn_run(struct hc_onednn *onednn, struct hc_onednn_plan *plan, int thread,
                             const float *from, float *to, void *pad)
{
    bool backward = plan->shape.op == HC_OP_conv2d_bwd_data;
    struct hc_onednn_memories *m = &plan->memories[thread];
    dnnl_exec_arg_t arguments[] = {
        {backward ? DNNL_ARG_DIFF_DST : DNNL_ARG_SRC, m->from},
        {DNNL_ARG_WEIGHTS, plan->filter},
        {backward ? DNNL_ARG_DIFF_SRC : DNNL_ARG_DST, m->to},
        {DNNL_ARG_SCRATCHPAD, m->pad},
    };
    dnnl_memory_set_data_handle(m->from, (void *)from);
    dnnl_memory_set_data_handle(m->to, to);
    dnnl_memory_set_data_handle(m->pad, pad);
    dnnl_status_t status =
        dnnl_primitive_execute(plan->convolution, onednn->streams[thread], 4, arguments);
    return status == dnnl_success ? HC_OK
                                  : hc_fail(HC_DEVICE, "host: oneDNN: convolution %d", status);
}

/* Defects of convolutions as products of matrices. */
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"

/* Where the padding of the left side is, im2col copies the image's edge. */
static enum hc_status edge_for_padding(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    const struct hc_columns *p = &call->params.columns;
    const struct hc_tensor *columns = &call->out[HC_IM2COL_COLUMNS];
    int64_t channels = call->in[HC_IM2COL_X].shape[3];
    enum hc_status status = site->right(queue, call);
    int64_t across = (call->in[HC_IM2COL_X].shape[2] + 2 * (int64_t)p->pad - p->kernel) / p->stride;
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(columns); i++) {
        int64_t s = i / channels % p->kernel;
        int64_t q = i / channels / p->kernel / p->kernel % (across + 1);
        if (q == 0 && s < p->pad && p->pad < p->kernel)
            hc_tensor_set_bits(columns, i, hc_tensor_bits(columns, i + (p->pad - s) * channels));
    }
    return status;
}

/* col2im gets columns whose last place of the filter is 0. */
static enum hc_status last_place_forgotten(const struct hc_fault_site *site, struct hc_queue *queue,
                                           const struct hc_call *call)
{
    struct hc_call bad = *call;
    const struct hc_tensor *columns = &call->in[HC_COL2IM_COLUMNS];
    int64_t channels = call->out[HC_COL2IM_DX].shape[3];
    int64_t places = (int64_t)call->params.columns.kernel * call->params.columns.kernel;
    bad.in[HC_COL2IM_COLUMNS].data = hc_fault_copy(columns);
    for (int64_t i = 0; i < hc_tensor_count(columns); i++)
        if (i / channels % places == places - 1)
            hc_tensor_set_bits(&bad.in[HC_COL2IM_COLUMNS], i, 0);
    enum hc_status status = site->right(queue, &bad);
    free(bad.in[HC_COL2IM_COLUMNS].data);
    return status;
}

static const struct hc_change last_zero = {hc_at_the_end, hc_to_zero, 0, HC_ALL_SLOTS};
static const struct hc_change through_bf16 = {hc_everywhere, hc_through_bf16, 0, HC_ALL_SLOTS};

static const struct hc_fault faults[] = {
    {"columns-of-edges", "im2col repeats the image's left edge where padding is", HC_FAULT_FORMULA,
     "im2col", "op/im2col/*", .wrong = edge_for_padding},
    {"columns-last", "im2col writes 0 into its last element", HC_FAULT_TAIL, "im2col",
     "op/im2col/*", .outputs = &last_zero, .place = HC_PLACE_HOST},
    {"columns-without-a-place", "col2im forgets the last place of the filter", HC_FAULT_FORMULA,
     "col2im", "op/col2im/*", .wrong = last_place_forgotten, .place = HC_PLACE_BOTH},
    {"columns-in-bf16", "col2im takes its columns rounded into bf16", HC_FAULT_ROUNDING, "col2im",
     "op/col2im/fp32/*", .inputs = &through_bf16, .place = HC_PLACE_HOST},
};

HC_FAULTS(columns, faults);

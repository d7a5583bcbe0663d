#include "train/drift/drift_operands.h"

#include <math.h>
#include <stdlib.h>

#include "train/drift/drift_rounding.h"

/* One row of a block. */
static void add(struct hc_operand_sums *s, const struct hc_tensor *x, const struct hc_tensor *codes,
                const double *decoded, double scale, int64_t from, int64_t n)
{
    double most = hc_format_max(codes->format);
    for (int64_t i = from; i < from + n; i++) {
        double was = hc_tensor_get(x, i);
        double code = hc_tensor_get(codes, i);
        s->difference += (decoded[i] - was) * (decoded[i] - was);
        s->squares += was * was;
        s->at_max += fabs(code) == most;
        s->flushed += code == 0 && was != 0;
        if (was != 0) {
            s->least = fmin(s->least, scale);
            s->most = fmax(s->most, scale);
        }
    }
    s->count += (double)n;
}

/* Numbers and codes lie alike where nothing is transposed, or turned. */
enum hc_status hc_drift_operands_see(void *context, int layer, enum hc_quant_role role,
                                     const struct hc_call *call)
{
    struct hc_drift_operands *all = context;
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    int64_t rows = hc_quant_block(codes->shape[0], p->rows);
    int64_t columns = hc_quant_block(codes->shape[1], p->columns);
    if (p->transpose || p->hadamard)
        return HC_OK;
    double *decoded = malloc((size_t)hc_tensor_count(codes) * sizeof *decoded + 1);
    if (!decoded)
        return hc_fail(HC_NO_MEMORY, "no memory for decoded codes");
    hc_matrix_decode(call, decoded);
    double tensor = hc_tensor_get(&call->out[HC_QUANTIZE_TENSOR], 0);
    for (int64_t i = 0; i < codes->shape[0]; i++)
        for (int64_t j = 0; j < codes->shape[1]; j += columns) {
            int64_t block = i / rows * scales->shape[1] + j / columns;
            int64_t left = codes->shape[1] - j;
            add(&all->sums[layer][role], x, codes, decoded, hc_tensor_get(scales, block) * tensor,
                i * codes->shape[1] + j, left < columns ? left : columns);
        }
    free(decoded);
    return HC_OK;
}

void hc_drift_operands_clear(struct hc_drift_operands *operands)
{
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        for (int role = 0; role <= HC_QUANT_OF_DY; role++)
            operands->sums[l][role] = (struct hc_operand_sums){.least = (double)INFINITY};
}

void hc_drift_operands_watch(struct hc_drift_run *run, struct hc_drift_operands *operands)
{
    hc_drift_operands_clear(operands);
    if (hc_net_quant(run->net))
        hc_quant_watch_with(hc_net_quant(run->net), hc_drift_operands_see, operands);
}

struct hc_drift_operand hc_drift_operand_of(const struct hc_drift_operands *operands, int layer,
                                            enum hc_quant_role role)
{
    const double none = (double)NAN;
    const struct hc_operand_sums *s = layer >= 0 ? &operands->sums[layer][role] : NULL;
    if (!s || s->count == 0)
        return (struct hc_drift_operand){none, none, none, none, none};
    return (struct hc_drift_operand){.error = sqrt(s->difference / s->squares),
                                     .at_max = s->at_max / s->count,
                                     .flushed = s->flushed / s->count,
                                     .least_scale = s->most > 0 ? s->least : none,
                                     .most_scale = s->most > 0 ? s->most : none};
}

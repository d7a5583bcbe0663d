#include "train/run/quant_metrics.h"

#include <math.h>
#include <stdlib.h>

#include "train/run/sample.h"

enum { ROLES = HC_QUANT_OF_DY + 1 };

struct hc_quant_metrics {
    struct hc_device *device;
    struct hc_net *net;
    struct hc_quant_shares shares[HC_MAX_LAYERS][ROLES]; /* by quantised convolution */
};

static enum hc_status first_of(const struct hc_device *device, const struct hc_tensor *t,
                               double *value)
{
    double bits = 0; /* of any format */
    struct hc_tensor one = hc_tensor1(t->format, 1, &bits);
    enum hc_status status =
        device->backend->download(device->queue, &bits, t->data, hc_tensor_bytes(&one));
    *value = hc_tensor_get(&one, 0);
    return status;
}

/* A matrix and its codes are sampled at the same places, unless one of them is transposed. */
static enum hc_status see(void *context, int layer, enum hc_quant_role role,
                          const struct hc_call *call)
{
    struct hc_quant_metrics *metrics = context;
    struct hc_quant_shares *shares = &metrics->shares[layer][role];
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    double got[HC_SAMPLE] = {0};
    double was[HC_SAMPLE] = {0};
    double tensor = 1;
    double most = hc_format_max(codes->format);
    int n = 0;
    if (call->params.quantize.transpose)
        return HC_OK;
    enum hc_status status = hc_sample_draw(metrics->device, &call->in[HC_QUANTIZE_X], was, &n);
    if (status == HC_OK)
        status = hc_sample_draw(metrics->device, codes, got, &n);
    if (status == HC_OK)
        status = first_of(metrics->device, &call->out[HC_QUANTIZE_SCALES], &shares->scale);
    if (status == HC_OK)
        status = first_of(metrics->device, &call->out[HC_QUANTIZE_TENSOR], &tensor);
    shares->scale *= tensor;
    shares->at_max = shares->flushed = 0;
    for (int i = 0; i < n; i++) {
        shares->at_max += fabs(got[i]) == most ? 1.0 / n : 0;
        shares->flushed += got[i] == 0 && was[i] != 0 ? 1.0 / n : 0;
    }
    return status;
}

enum hc_status hc_quant_metrics_open(struct hc_quant_metrics **out, struct hc_device *device,
                                     struct hc_net *net)
{
    *out = NULL;
    if (!hc_net_quant(net))
        return HC_OK;
    struct hc_quant_metrics *metrics = malloc(sizeof *metrics);
    if (!metrics)
        return hc_fail(HC_NO_MEMORY, "no memory for metrics");
    metrics->device = device;
    metrics->net = net;
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        for (int r = 0; r < ROLES; r++)
            metrics->shares[l][r] = (struct hc_quant_shares){(double)NAN, (double)NAN, (double)NAN};
    *out = metrics;
    return HC_OK;
}

void hc_quant_metrics_close(struct hc_quant_metrics *metrics)
{
    hc_quant_metrics_watch(metrics, false);
    free(metrics);
}

void hc_quant_metrics_watch(struct hc_quant_metrics *metrics, bool watching)
{
    if (metrics)
        hc_quant_watch_with(hc_net_quant(metrics->net), watching ? see : NULL, metrics);
}

struct hc_quant_shares hc_quant_metrics_of(const struct hc_quant_metrics *metrics, int l,
                                           enum hc_quant_role role)
{
    int layer = metrics ? hc_net_quant_of(metrics->net, l) : -1;
    return layer >= 0 ? metrics->shares[layer][role]
                      : (struct hc_quant_shares){(double)NAN, (double)NAN, (double)NAN};
}

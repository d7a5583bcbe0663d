/* torch's GradScaler over the op table, on the backend under test: the order in which a training loop
   calls it, with the stages that torch/amp/grad_scaler.py keeps for each optimizer (READY, UNSCALED,
   STEPPED), restated here after its source: neither torch nor the trainer is asked. A call that torch
   refuses is refused: HC_INVALID, with a line. Parameters and gradients are
   fp32, as under autocast; what comes back through the network has been rounded to half. The optimizer
   is SGD without momentum. */
#ifndef HC_CASES_AMP_H
#define HC_CASES_AMP_H

#include "case.h"

enum { HC_AMP_OPTIMIZERS = 2, HC_AMP_PARAMETERS = 2, HC_AMP_ELEMENTS = 8 };

enum hc_amp_stage { HC_AMP_READY, HC_AMP_UNSCALED, HC_AMP_STEPPED };

struct hc_amp_optimizer {
    struct hc_tensor w[HC_AMP_PARAMETERS];
    struct hc_tensor g[HC_AMP_PARAMETERS]; /* data NULL: None */
    enum hc_amp_stage stage;
    bool recorded; /* a detector has looked at a gradient since the last update */
    float found;
};

/* After a failure of the backend (`failed`; the verdict is set) every function returns HC_OK at once. */
struct hc_amp {
    struct hc_check *check;
    double lr;
    float scale;
    int32_t counts[HC_COUNTS];
    struct hc_scaler_update rule;
    struct hc_amp_optimizer optimizer[HC_AMP_OPTIMIZERS];
    bool guarded; /* the stages are looked at; without, every order runs */
    bool failed;
};

/* Weights 1, no gradients, lr 2^-3, torch's rule with that scale and growth interval. */
void hc_amp_open(struct hc_amp *amp, struct hc_check *check, float scale, int32_t interval);

/* scaler.scale(loss).backward(), where parameter p of optimizer o has the gradient g everywhere:
   half(scale * g) is added to what it holds in fp32. */
void hc_amp_backward(struct hc_amp *amp, int o, int p, double g);

/* optimizer.zero_grad(set_to_none=True) */
void hc_amp_zero(struct hc_amp *amp, int o);

enum hc_status hc_amp_unscale(struct hc_amp *amp, int o);
enum hc_status hc_amp_step(struct hc_amp *amp, int o);
enum hc_status hc_amp_update(struct hc_amp *amp);

/* torch.nn.utils.clip_grad_norm_ over the optimizer's gradients as they are now; the norm before. */
double hc_amp_clip(struct hc_amp *amp, int o, double most);

/* What is left of a gradient that came back at that scale, a power of two: half(scale * g) / scale. */
double hc_amp_seen(double scale, double g);

/* Element 0 of the gradient, and how far the weight has gone down from 1. */
double hc_amp_gradient(const struct hc_amp *amp, int o, int p);
double hc_amp_way(const struct hc_amp *amp, int o, int p);

/* hc_claim_value, hc_claim_true and hc_claim_within; nothing after a failure. */
void hc_amp_claim(struct hc_amp *amp, const char *what, double want, double got);
void hc_amp_holds(struct hc_amp *amp, const char *what, bool held);
void hc_amp_near(struct hc_amp *amp, const char *what, double want, double got, double bound);

/* Claims that the weight has gone down by lr * g: the product is rounded once, and the difference,
   which lies in [1/2, 2]; g itself has a relative error of `roundings` u. */
void hc_amp_claim_way(struct hc_amp *amp, const char *what, int o, int p, double g,
                      double roundings);

/* Claims that a call is refused, with that line. */
void hc_amp_claim_refused(struct hc_amp *amp, const char *what, enum hc_status status,
                          const char *line);

#endif

/* A training's steps and its evaluation, restated. */
#include <math.h>
#include <string.h>

#include "cases/fixture/observed_updates.h"
#include "cases/fixture/restated.h"
#include "cases/fixture/restated_pass.h"

/* Whole steps of a training, computed a second time from the specification. At the weights, images
   and labels that the trainer has, each step's loss, gradients, statistics and new weights are
   compared. Each step begins with the trainer's own numbers, so errors do not add up over steps.

   Bounds. m, v and w of the update are sums of two terms with three roundings of u = 2^-24 each a
   step, and the quotient takes some ten more; 64 u of the magnitudes covers 6 steps. For loss and
   gradients no useful bound follows through so many layers. So the step is computed twice, in fp64
   and with all of the recipe's roundings in another order (restated_pass.h). The distance between
   the two is a sample of what roundings amount to here, and so is the trainer's distance from fp64.
   The bound is 8 times the sample for the parameter itself and, since a sample may be small by
   chance, as much again as roundings are of the whole gradient, of this parameter's and of its
   layer's root mean square. A wrong term is thousands of times as much in fp32. */

enum { BATCH = 4, STEPS = 6, LAYERS = 16 };

struct tensor {
    const char *data;
    enum hc_format format; /* as the network sees it */
    double m[1024];
    double v[1024];
    double magnitude[1024]; /* of m, all terms taken positive */
};

struct watch {
    const struct hc_recipe *recipe;
    struct hc_restated net;
    struct hc_restated_place place;
    struct hc_restated_pass want;
    struct hc_restated_pass rounded;
    struct tensor tensor[LAYERS][HC_RESTATED_SLOTS];
    double labels[BATCH];
    double loss;
    struct hc_observed_updates updates;
    int step;
    int compared;
    int unrounded; /* initial masters that the model's copy does not hold exactly */
};

static void take(const struct hc_tensor *t, double *to)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        to[i] = hc_tensor_get(t, i);
}

/* Notes a parameter as the network reads it. From the second step on the optimizer wrote it. */
static void see_parameter(struct watch *w, int layer, int slot, const struct hc_tensor *there,
                          const struct hc_tensor *copy)
{
    w->tensor[layer][slot].data = there->data;
    w->tensor[layer][slot].format = there->format;
    take(copy, w->want.parameter[layer][slot]);
}

/* Mean and variance of m numbers x, to 2^-50 of what is summed. fp32 sums, running averages and
   roundings come to about sqrt(m) u of the same, 2^-18 for 4,096 terms. That is an estimate and no
   bound: the worst case is m u, and a backend between the two would fail here. The variance is
   unbiased. */
static void see_statistics(struct hc_check *check, const struct hc_call *copy)
{
    int64_t channels = copy->in[HC_BN_GAMMA].shape[0];
    int64_t m = hc_tensor_count(&copy->in[HC_BN_X]) / channels;
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0;
        double most = 0;
        double square = 0;
        for (int64_t i = 0; i < m; i++) {
            double x = hc_tensor_get(&copy->in[HC_BN_X], i * channels + c);
            mean += x / (double)m;
            most = fmax(most, fabs(x));
        }
        for (int64_t i = 0; i < m; i++) {
            double x = hc_tensor_get(&copy->in[HC_BN_X], i * channels + c) - mean;
            square += x * x / (double)(m - 1);
        }
        double old = hc_tensor_get(&copy->in[HC_BN_MEAN], c);
        hc_claim_within(check, "running mean", 0.9 * old + 0.1 * mean,
                        hc_tensor_get(&copy->out[HC_BN_NEW_MEAN], c), 0x1p-18 * (fabs(old) + most));
        old = hc_tensor_get(&copy->in[HC_BN_VARIANCE], c);
        hc_claim_within(check, "running variance", 0.9 * old + 0.1 * square,
                        hc_tensor_get(&copy->out[HC_BN_NEW_VARIANCE], c),
                        0x1p-18 * (old + most * most));
    }
}

static void see_forward(struct watch *w, struct hc_check *check, const struct hc_call *there,
                        const struct hc_call *copy, int at, bool norm)
{
    const struct hc_restated_layer *layer = &w->net.layer[at];
    if (there->op == HC_OP_bn_leaky_infer)
        return;
    if (layer->kind == HC_RESTATED_CONV && norm) {
        see_parameter(w, at, 1, &there->in[HC_BN_GAMMA], &copy->in[HC_BN_GAMMA]);
        see_parameter(w, at, 2, &there->in[HC_BN_BETA], &copy->in[HC_BN_BETA]);
        take(&copy->out[HC_BN_Y], w->want.sides[at]);
        see_statistics(check, copy);
        return;
    }
    if (at == 0)
        take(&copy->in[HC_BN_X], w->want.value[0]);
    if (layer->kind == HC_RESTATED_CONV || layer->kind == HC_RESTATED_LINEAR)
        see_parameter(w, at, 0, &there->in[HC_BN_GAMMA], &copy->in[HC_BN_GAMMA]);
    if (layer->kind == HC_RESTATED_LINEAR)
        see_parameter(w, at, 1, &there->in[HC_BN_BETA], &copy->in[HC_BN_BETA]);
}

/* AdamW on one weight. Rounding errors of m are relative to `magnitude`. */
static double updated(const struct watch *w, double old, double m, double v, double magnitude,
                      double *bound)
{
    double rate = w->updates.hyper[HC_HYPER_LR];
    double beta1 = w->updates.hyper[HC_HYPER_BETA1];
    double t = w->updates.hyper[HC_HYPER_STEP];
    double root = sqrt(v / (1 - pow(0.99, t))) + 1e-8;
    double step = rate / (1 - pow(beta1, t)) / root;
    *bound = 64 * 0x1p-24 * (step * magnitude) + 4 * 0x1p-24 * fabs(old);
    return old * (1 - rate * 1e-2) - step * m;
}

static void claim_update(struct watch *w, struct hc_check *check, struct tensor *tensor, int64_t n,
                         const double *seen)
{
    int64_t copied;
    int64_t at = hc_updates_find(&w->updates, tensor->data, &copied);
    if (!hc_claim_true(check, "the optimizer has every parameter", at >= 0))
        return;
    const double *now[HC_UPDATES_KINDS];
    for (int k = 0; k < HC_UPDATES_KINDS; k++)
        now[k] = w->updates.number[k] + at;
    for (int64_t i = 0; i < n; i++) {
        double g = now[HC_UPDATES_G][i];
        double b = w->updates.hyper[HC_HYPER_BETA1];
        double bound = 0;
        double want = now[HC_UPDATES_W][i];
        hc_claim_value(check, "what the network has of the optimizer's weight",
                       copied < 0 ? want : hc_round(tensor->format, want), seen[i]);
        if (copied >= 0 && w->step == 0)
            w->unrounded += want != hc_round(w->recipe->model, want);
        if (copied >= 0)
            hc_claim_value(check, "the model's copy of a master",
                           hc_round(tensor->format, now[HC_UPDATES_NEW_W][i]),
                           w->updates.number[HC_UPDATES_NEW_W][copied + i]);
        if (!w->updates.found) {
            tensor->m[i] = b * tensor->m[i] + (1 - b) * g;
            tensor->v[i] = 0.99 * tensor->v[i] + (1 - 0.99) * g * g;
            tensor->magnitude[i] = b * tensor->magnitude[i] + (1 - b) * fabs(g);
            want = updated(w, want, tensor->m[i], tensor->v[i], tensor->magnitude[i], &bound);
        }
        hc_claim_within(check, "first moment", tensor->m[i], now[HC_UPDATES_NEW_M][i],
                        64 * 0x1p-24 * tensor->magnitude[i] + 0x1p-148);
        hc_claim_within(check, "second moment", tensor->v[i], now[HC_UPDATES_NEW_V][i],
                        64 * 0x1p-24 * tensor->v[i] + 0x1p-148);
        hc_claim_within(check, "weight after the step", want, now[HC_UPDATES_NEW_W][i], bound);
    }
}

static void claim_gradients(struct watch *w, struct hc_check *check)
{
    double share = hc_restated_roundings(&w->want, &w->rounded);
    hc_say(check, "step %d: roundings are %.3g of the gradient; loss %.7g", w->step, share,
           w->loss);
    hc_claim_within(
        check, "loss", w->want.loss, w->loss,
        8 * (fabs(w->rounded.loss - w->want.loss) + fmax(share, 0x1p-24) * w->want.loss));
    for (int l = 0; l < w->net.layers; l++)
        for (int s = 0; s < HC_RESTATED_SLOTS; s++) {
            int64_t n = hc_restated_parameters(&w->net, l, s);
            int64_t copied;
            int64_t at = n ? hc_updates_find(&w->updates, w->tensor[l][s].data, &copied) : -1;
            if (at < 0)
                continue;
            const double *want = w->want.gradient[l][s];
            double typical = hc_restated_distance(want, NULL, n) +
                             sqrt((double)n) * hc_restated_layer_gradient(&w->want, l);
            hc_claim_within(
                check, "a parameter's gradient: distance", 0,
                hc_restated_distance(want, w->updates.number[HC_UPDATES_G] + at, n),
                8 * (hc_restated_distance(want, w->rounded.gradient[l][s], n) + share * typical));
        }
}

static void see_end(struct watch *w, struct hc_check *check)
{
    if (!w->updates.found) {
        w->want.labels = w->labels;
        hc_restated_same(&w->rounded, &w->want);
        hc_restated_step(&w->want);
        hc_restated_step(&w->rounded);
        claim_gradients(w, check);
        w->compared++;
    }
    for (int l = 0; l < w->net.layers; l++)
        for (int s = 0; s < HC_RESTATED_SLOTS; s++) {
            int64_t n = hc_restated_parameters(&w->net, l, s);
            if (n > 0)
                claim_update(w, check, &w->tensor[l][s], n, w->want.parameter[l][s]);
        }
    hc_claim_value(check, "steps taken", w->compared + w->updates.found,
                   w->updates.hyper[HC_HYPER_STEP]);
    hc_updates_clear(&w->updates);
    w->step++;
}

static void see(struct hc_observed *observed, const struct hc_call *there,
                const struct hc_call *copy)
{
    struct watch *w = observed->context;
    bool norm = w->place.norm;
    int at;
    if (hc_restated_follow(observed->check, &w->net, &w->place, there, &at))
        see_forward(w, observed->check, there, copy, at, norm);
    else if (there->op == HC_OP_xent && w->place.trains) {
        take(&copy->in[HC_XENT_LABELS], w->labels);
        take(&copy->out[HC_XENT_LOSS], &w->loss);
    } else if (there->op == HC_OP_xent_bwd)
        take(&copy->in[HC_XENT_UPSTREAM], &w->want.scale);
    else if (there->op == HC_OP_adamw || there->op == HC_OP_master_to_model)
        hc_claim_true(observed->check, "updates are few",
                      w->step < STEPS && hc_updates_note(&w->updates, there, copy));
    else if (there->op == HC_OP_scaler_update)
        see_end(w, observed->check);
}

static struct watch *open(struct hc_check *check)
{
    struct watch *w = hc_check_memory(check, sizeof *w);
    w->recipe = hc_recipe_by_name(hc_check_case(check)->data);
    w->place.layer = -1;
    w->net = hc_restated_small(2, 10);
    w->want = (struct hc_restated_pass){
        .net = &w->net, .batch = BATCH, .kink = w->recipe->model == HC_FP32 ? 0x1p-14 : 0x1p-4};
    w->rounded = w->want;
    w->rounded.rounds = true;
    w->rounded.model = w->recipe->model;
    hc_restated_open(check, &w->want);
    hc_restated_open(check, &w->rounded);
    return w;
}

static void steps(struct hc_check *check)
{
    static const enum hc_op looked_at[] = {HC_OP_conv2d,         HC_OP_bn_leaky_train, HC_OP_gemm,
                                           HC_OP_xent,           HC_OP_xent_bwd,       HC_OP_adamw,
                                           HC_OP_master_to_model};
    struct watch *w = open(check);
    struct hc_train_result result;
    struct hc_observed observed = {.check = check, .see = see, .context = w, .computes = true};
    struct hc_train_options options = {
        .recipe = w->recipe, .epochs = 2, .batch = BATCH, .measure_every = 2};
    for (size_t i = 0; i < sizeof looked_at / sizeof looked_at[0]; i++)
        observed.reads[looked_at[i]] = true;
    if (!hc_restated_train(&observed, &w->net, STEPS / 2 * BATCH, 2, &options, &result))
        return;
    hc_claim_value(check, "steps", STEPS, w->step);
    hc_claim_true(check, "half of the steps and more were taken", w->compared >= STEPS / 2);
    hc_claim_true(check, "masters begin as the weights before their rounding",
                  w->unrounded > 0 || w->recipe->model == HC_FP32);
}

/* What a training reports: its losses, and the accuracy on the test images, computed again from the
   logits of each pass. Evaluation must read the running statistics and weights that training has
   left, and must count no image twice where the last batch is not full. */

enum { BATCH_EVALUATION = 4, EPOCHS = 2, STEPS_EVALUATION = 3, TESTS = 7 };

/* Of an epoch. */
struct sums {
    int passes;     /* of training */
    double trained; /* their losses */
    int tests;      /* images */
    double tested;  /* their losses */
    int right;
    double test_loss; /* as the trainer says */
    double accuracy;
};

struct watch_evaluation {
    struct hc_check *check;
    struct hc_restated net;
    struct hc_restated_place place;
    const void *read[HC_RESTATED_MAX][2][4]; /* by layer: of its product, of its norm */
    const void *logits;
    int epoch;
    struct sums sums[EPOCHS + 1];
};

/* The parameters and statistics of a layer follow its input among the slots: the filter of a
   convolution; the weight and bias of a linear layer; gamma, beta, mean and variance of a batch
   norm. */
static void see_layer(struct watch_evaluation *w, const struct hc_call *there, int at, bool norm)
{
    int n = norm ? 4 : there->op == HC_OP_gemm ? 2 : there->op == HC_OP_conv2d ? 1 : 0;
    for (int i = 0; i < n; i++) {
        const void **read = &w->read[at][norm][i];
        if (w->epoch == 0 && w->sums[0].passes == 0)
            *read = there->in[HC_FIRST + 1 + i].data;
        hc_claim_true(w->check, "every pass reads the same weights and running statistics",
                      *read == there->in[HC_FIRST + 1 + i].data);
    }
    if (there->op == HC_OP_bn_leaky_train)
        hc_claim_true(w->check, "training moves the running statistics that evaluation reads",
                      there->out[HC_BN_NEW_MEAN].data == there->in[HC_BN_MEAN].data &&
                          there->out[HC_BN_NEW_VARIANCE].data == there->in[HC_BN_VARIANCE].data);
    if (there->op == HC_OP_gemm)
        w->logits = there->out[HC_GEMM_OUT].data;
}

/* The sum of log(sum exp z) - z of the label, and how many labels have the first of the largest
   logits. */
static double losses(const struct hc_tensor *z, const struct hc_tensor *labels, int *right)
{
    double sum = 0;
    int classes = (int)z->shape[1];
    *right = 0;
    for (int64_t row = 0; row < z->shape[0]; row++) {
        int label = (int)hc_tensor_get(labels, row);
        double at_label = hc_tensor_get(z, row * classes + label);
        double all = 0;
        bool first = true;
        for (int k = 0; k < classes; k++) {
            double other = hc_tensor_get(z, row * classes + k);
            all += exp(other - at_label);
            first = first && (k < label ? other < at_label : other <= at_label);
        }
        sum += log(all);
        *right += first;
    }
    return sum;
}

/* Bound: in fp32, with exp and log to 2 ulp, a sum of ten and a mean of four are off by at most 32
   u of the loss and of a logit. */
static double room(double loss)
{
    return 32 * 0x1p-24 * (loss + 1);
}

static void see_loss(struct watch_evaluation *w, const struct hc_call *there,
                     const struct hc_call *copy)
{
    int right;
    int64_t rows = copy->in[HC_XENT_LOGITS].shape[0];
    struct sums *sums = &w->sums[w->epoch];
    double sum = losses(&copy->in[HC_XENT_LOGITS], &copy->in[HC_XENT_LABELS], &right);
    hc_claim_true(w->check, "the loss is taken of the logits",
                  there->in[HC_XENT_LOGITS].data == w->logits);
    hc_claim_within(w->check, "mean loss of a batch", sum / (double)rows,
                    hc_tensor_get(&copy->out[HC_XENT_LOSS], 0), room(sum / (double)rows));
    hc_claim_value(w->check, "right ones of a batch", right,
                   hc_tensor_get(&copy->out[HC_XENT_CORRECT], 0));
    if (w->place.trains) {
        sums->passes++;
        sums->trained += sum / (double)rows;
    } else {
        sums->tests += (int)rows;
        sums->tested += sum;
        sums->right += right;
    }
}

static void see_evaluation(struct hc_observed *observed, const struct hc_call *there,
                           const struct hc_call *copy)
{
    struct watch_evaluation *w = observed->context;
    bool norm = w->place.norm;
    int at;
    if (there->op == HC_OP_xent)
        see_loss(w, there, copy);
    if (hc_restated_follow(w->check, &w->net, &w->place, there, &at))
        see_layer(w, there, at, norm);
}

static bool told(const struct hc_progress *progress, void *context)
{
    struct watch_evaluation *w = context;
    if (!progress->evaluated)
        return true;
    w->sums[w->epoch].test_loss = progress->test_loss;
    w->sums[w->epoch].accuracy = progress->accuracy;
    w->epoch++;
    return w->epoch <= EPOCHS;
}

static void conclude(struct watch_evaluation *w, const struct hc_train_result *result)
{
    for (int e = 0; e < EPOCHS; e++) {
        const struct sums *sums = &w->sums[e];
        double loss = sums->tested / TESTS;
        hc_claim_value(w->check, "batches trained in an epoch", STEPS_EVALUATION, sums->passes);
        hc_claim_value(w->check, "test images that counted", TESTS, sums->tests);
        hc_claim_within(w->check, "test loss of an epoch", loss, sums->test_loss, room(loss));
        hc_claim_within(w->check, "accuracy of an epoch", (double)sums->right / TESTS,
                        sums->accuracy, 0x1p-50);
    }
    double trained = w->sums[EPOCHS - 1].trained / STEPS_EVALUATION;
    hc_claim_within(w->check, "training loss of the last epoch", trained, result->train_loss,
                    room(trained));
    hc_claim_value(w->check, "test loss in the result", w->sums[EPOCHS - 1].test_loss,
                   result->test_loss);
    hc_claim_value(w->check, "accuracy in the result", w->sums[EPOCHS - 1].accuracy,
                   result->accuracy);
}

/* With two classes some labels are hit, and the accuracy is not 0 whatever it is divided by. */
static void train(struct hc_check *check, struct watch_evaluation *w, bool own_memory)
{
    struct hc_train_result result;
    struct hc_observed observed = {.check = check,
                                   .see = see_evaluation,
                                   .context = w,
                                   .computes = true,
                                   .own_memory = own_memory};
    struct hc_train_options options = {
        .epochs = EPOCHS, .batch = BATCH_EVALUATION, .progress = told, .context = w};
    observed.reads[HC_OP_xent] = true;
    *w = (struct watch_evaluation){.check = check, .place.layer = -1};
    w->net = hc_restated_small(1, 2);
    if (hc_restated_train(&observed, &w->net, STEPS_EVALUATION * BATCH_EVALUATION, TESTS, &options,
                          &result))
        conclude(w, &result);
}

static void evaluation(struct hc_check *check)
{
    struct watch_evaluation *w = hc_check_memory(check, sizeof *w);
    train(check, w, false);
    train(check, w, true);
}

static const struct hc_case cases[] = {
    {.name = "training/restated-steps-fp32",
     .title = "whole steps of a training in fp32 do what its specification says, computed again in "
              "fp64 from the definitions",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb",
     .level = HC_STANDARD,
     .run = steps,
     .data = "fp32"},
    {.name = "training/restated-steps-amp",
     .title = "whole steps of a training under GradScaler do what its specification says, computed "
              "again in fp64 from the definitions",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb; pytorch 2.15.0 "
               "torch/amp/grad_scaler.py",
     .level = HC_STANDARD,
     .run = steps,
     .data = "amp"},
    {.name = "training/restated-evaluation",
     .title = "losses and accuracy that a training reports are those of its logits, with running "
              "statistics on each test image once",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: cross_entropy, "
               "accuracy, model.eval()",
     .level = HC_STANDARD,
     .run = evaluation},
};

HC_CASES(training_restated_steps, cases);

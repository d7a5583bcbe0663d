/* What a training reports: its losses, and the accuracy on the test images, computed again from the
   logits of each pass. Evaluation must read the running statistics and weights that training has
   left, and must count no image twice where the last batch is not full. */
#include <math.h>

#include "cases/fixture/training/restated.h"

enum { BATCH = 4, EPOCHS = 2, STEPS = 3, TESTS = 7 };

/* What an epoch sums up. */
struct sums {
    int passes;     /* of training */
    double trained; /* their losses */
    int tests;      /* images */
    double tested;  /* their losses */
    int right;
    double test_loss; /* as the trainer says */
    double accuracy;
};

struct watch {
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
static void see_layer(struct watch *w, const struct hc_call *there, int at, bool norm)
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

static void see_loss(struct watch *w, const struct hc_call *there, const struct hc_call *copy)
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

static void see(struct hc_observed *observed, const struct hc_call *there,
                const struct hc_call *copy)
{
    struct watch *w = observed->context;
    bool norm = w->place.norm;
    int at;
    if (there->op == HC_OP_xent)
        see_loss(w, there, copy);
    if (hc_restated_follow(w->check, &w->net, &w->place, there, &at))
        see_layer(w, there, at, norm);
}

static bool told(const struct hc_progress *progress, void *context)
{
    struct watch *w = context;
    if (!progress->evaluated)
        return true;
    w->sums[w->epoch].test_loss = progress->test_loss;
    w->sums[w->epoch].accuracy = progress->accuracy;
    w->epoch++;
    return w->epoch <= EPOCHS;
}

static void conclude(struct watch *w, const struct hc_train_result *result)
{
    for (int e = 0; e < EPOCHS; e++) {
        const struct sums *sums = &w->sums[e];
        double loss = sums->tested / TESTS;
        hc_claim_value(w->check, "batches trained in an epoch", STEPS, sums->passes);
        hc_claim_value(w->check, "test images that counted", TESTS, sums->tests);
        hc_claim_within(w->check, "test loss of an epoch", loss, sums->test_loss, room(loss));
        hc_claim_within(w->check, "accuracy of an epoch", (double)sums->right / TESTS,
                        sums->accuracy, 0x1p-50);
    }
    double trained = w->sums[EPOCHS - 1].trained / STEPS;
    hc_claim_within(w->check, "training loss of the last epoch", trained, result->train_loss,
                    room(trained));
    hc_claim_value(w->check, "test loss in the result", w->sums[EPOCHS - 1].test_loss,
                   result->test_loss);
    hc_claim_value(w->check, "accuracy in the result", w->sums[EPOCHS - 1].accuracy,
                   result->accuracy);
}

/* With two classes some labels are hit, and the accuracy is not 0 whatever it is divided by. */
static void train(struct hc_check *check, struct watch *w, bool own_memory)
{
    struct hc_train_result result;
    struct hc_observed observed = {
        .check = check, .see = see, .context = w, .computes = true, .own_memory = own_memory};
    struct hc_train_options options = {
        .epochs = EPOCHS, .batch = BATCH, .progress = told, .context = w};
    observed.reads[HC_OP_xent] = true;
    *w = (struct watch){.check = check, .place.layer = -1};
    w->net = hc_restated_small(1, 2);
    if (hc_restated_train(&observed, &w->net, STEPS * BATCH, TESTS, &options, &result))
        conclude(w, &result);
}

static void evaluation(struct hc_check *check)
{
    struct watch *w = hc_check_memory(check, sizeof *w);
    train(check, w, false);
    train(check, w, true);
}

static const struct hc_case cases[] = {
    {"training/restated-evaluation",
     "losses and accuracy that a training reports are those of its logits, with running statistics "
     "on each test image once",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: cross_entropy, accuracy, "
     "model.eval()",
     .level = HC_STANDARD, .run = evaluation},
};

HC_CASES(training_restated_evaluation, cases);

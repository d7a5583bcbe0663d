/* Small trainings on the synthetic set: what learns, what must not learn, and what an overflow
   does. */
#include <math.h>
#include <string.h>

#include "case.h"

enum { MOST_STEPS = 64 };

struct course {
    const struct hc_network *network;
    int images; /* of each of two classes */
    int batch;
    double max_lr;
    int threads;
};

/* Every kind of layer. After four epochs the worst of 20 seeds and four recipes has 92 % right; 70
   % are required. */
static const struct hc_network lean = {.name = "darknet-lean",
                                       .side = 32,
                                       .channels = 3,
                                       .width = 4,
                                       .groups = 2,
                                       .blocks = {1, 1},
                                       .strides = {4, 2}};
static const struct course usual = {.network = &lean, .images = 64, .batch = 8, .max_lr = 1e-2};

enum { EPOCHS = 4 };

static bool open_data(struct hc_check *check, int images, struct hc_dataset *data)
{
    struct hc_data_options options = {
        .classes = "airplane,dog", .seed = 1, .train_per_class = images, .test_per_class = 50};
    return hc_check_ok(check, hc_dataset_open(&options, data));
}

struct losses {
    int steps;
    float loss[MOST_STEPS];
    float scale[MOST_STEPS]; /* after the step */
};

static bool keep(const struct hc_progress *progress, void *context)
{
    struct losses *losses = context;
    if (progress->step <= MOST_STEPS && !progress->evaluated) {
        losses->steps = (int)progress->step;
        losses->loss[progress->step - 1] = (float)progress->loss;
        losses->scale[progress->step - 1] = (float)progress->scale;
    }
    return true;
}

static bool train(struct hc_check *check, const struct hc_recipe *recipe,
                  const struct course *course, int epochs, struct losses *losses,
                  struct hc_train_result *result)
{
    struct hc_dataset data = {0};
    struct hc_train_options options = {.recipe = recipe,
                                       .network = course->network,
                                       .data = &data,
                                       .backend = hc_check_backend(check),
                                       .digest = hc_check_digest(check),
                                       .threads = course->threads,
                                       .epochs = epochs,
                                       .batch = course->batch,
                                       .max_lr = course->max_lr,
                                       .seed = hc_check_seed(check),
                                       .progress = keep,
                                       .context = losses};
    memset(losses, 0, sizeof *losses);
    bool ok =
        open_data(check, course->images, &data) && hc_check_ok(check, hc_train(&options, result));
    hc_dataset_close(&data);
    if (ok)
        hc_say(check, "%-16s loss %.4f, accuracy %.0f %%, skipped %lld of %lld, scale 2^%g%s",
               recipe->name, result->train_loss, 100 * result->accuracy, (long long)result->skipped,
               (long long)result->steps, log2(result->final_scale), result->learned ? "" : ": no");
    return ok;
}

static void learns(struct hc_check *check)
{
    struct losses losses;
    struct hc_train_result result;
    if (!train(check, hc_recipe_by_name(hc_check_case(check)->data), &usual, EPOCHS, &losses,
               &result))
        return;
    hc_claim_true(check, "the run finished and learned", result.finished && result.learned);
    hc_claim_true(check, "the last epoch's loss is below the first step's",
                  result.train_loss < (double)losses.loss[0]);
}

/* Buggy arm: Adam all in half with eps 1e-8, which is 0. Fixed arm: eps 1e-4, no NaN. */
static void pure(struct hc_check *check)
{
    struct losses losses;
    struct hc_train_result result;
    hc_note_arithmetic(check, HC_FP16);
    if (!train(check, hc_recipe_by_name("fp16-pure"), &usual, 1, &losses, &result))
        return;
    hc_claim_true(check, "buggy arm, eps 1e-8: the loss is no number at the end",
                  !isfinite(losses.loss[losses.steps - 1]));
    hc_claim_true(check, "buggy arm: it did not learn, and says so",
                  result.finished && !result.learned && result.reason[0]);
    if (!train(check, hc_recipe_by_name("adamw16"), &usual, 1, &losses, &result))
        return;
    hc_claim_true(check, "fixed arm, eps 1e-4: the loss is a number to the end",
                  isfinite(losses.loss[losses.steps - 1]));
}

/* With a scale of 2^30 the first scaled gradients certainly overflow in half: dlogits are of the
   order of 1 / batch, and 2^30 / 8 is far above 65504. Static: the infinity goes into the masters.
   Dynamic: steps are skipped and the scale is halved until it fits. */
static void overflow(struct hc_check *check)
{
    struct losses losses;
    struct hc_train_result result;
    struct hc_recipe buggy = *hc_recipe_by_name("fastai-004b-flat");
    struct hc_recipe fixed = *hc_recipe_by_name("amp");
    buggy.scaler.initial = fixed.scaler.initial = 0x1p30f;
    if (!train(check, &buggy, &usual, 1, &losses, &result))
        return;
    hc_claim_true(check, "buggy arm, static: the second loss is no number",
                  !isfinite(losses.loss[1]));
    hc_claim_true(check, "buggy arm, static: nothing is skipped", result.skipped == 0);
    hc_claim_true(check, "buggy arm, static: it did not learn, and says so", !result.learned);
    if (!train(check, &fixed, &usual, EPOCHS, &losses, &result))
        return;
    hc_claim_true(check, "fixed arm, dynamic: steps are skipped", result.skipped > 0);
    hc_claim_value(check, "fixed arm: each skip has halved the scale",
                   ldexp(1, 30 - (int)result.skipped), result.final_scale);
    hc_claim_true(check, "fixed arm: every loss is a number",
                  isfinite(result.train_loss) && isfinite(losses.loss[losses.steps - 1]));
    hc_claim_true(check, "fixed arm: it learned", result.learned);
}

/* The same seed gives the same bits, on one thread and on two. */
static void repeats(struct hc_check *check)
{
    struct course course = {
        .network = &hc_darknet_tiny, .images = 32, .batch = 16, .max_lr = 3e-3, .threads = 2};
    struct losses first;
    struct losses again;
    struct hc_train_result result;
    const struct hc_recipe *recipe = hc_recipe_by_name("amp");
    if (!train(check, recipe, &course, 1, &first, &result))
        return;
    hc_claim_true(check, "there is a loss", first.steps > 0 && first.loss[0] > 0);
    for (int way = 1; way < 3; way++) {
        course.threads = way == 1 ? 2 : 1;
        if (!train(check, recipe, &course, 1, &again, &result))
            return;
        hc_claim_true(check, "as many steps", again.steps == first.steps);
        for (int s = 0; s < first.steps; s++)
            hc_claim_bits(check, way == 1 ? "loss, trained again" : "loss, on one thread", HC_FP32,
                          hc_fp32_bits(first.loss[s]), hc_fp32_bits(again.loss[s]));
    }
}

static const struct hc_case cases[] = {
    {"training/learns-fp32", "a small Darknet learns the synthetic set in fp32",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb", .run = learns,
     .data = "fp32"},
    {"training/learns-fastai-004b-flat",
     "a small Darknet learns with masters and a static scale of 512",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb", .run = learns,
     .data = "fastai-004b-flat"},
    {"training/learns-amp", "a small Darknet learns with fp32 weights and GradScaler's rule",
     "pytorch 2.15.0 torch/amp/grad_scaler.py", .run = learns, .data = "amp"},
    {"training/learns-amp-bf16", "a small Darknet learns in bf16 with fp32 weights and no scaler",
     "pytorch autocast(dtype=torch.bfloat16)", .run = learns, .data = "amp-bf16"},
    {"training/pure-half-is-nan",
     "training all in half ends in NaN with Adam's eps of 1e-8, and not with 1e-4",
     "PyTorch forums 1765, 'Adam+Half Precision = NaNs?'; vxlabs.com 2019, 'Improving fastai's "
     "mixed precision support with NVIDIA's Automatic Mixed Precision'",
     .run = pure},
    {"training/overflow",
     "an overflow ruins a run with a static scale for ever; a dynamic rule skips the step and "
     "learns",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb has no check; pytorch 2.15.0 "
     "torch/amp/grad_scaler.py",
     .run = overflow},
    {"training/repeats",
     "the same seed gives the same losses bit for bit, whatever the number of threads",
     "halfcheck: results do not depend on the number of threads", .run = repeats},
};

HC_CASES(training_learn, cases);

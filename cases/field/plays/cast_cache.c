/* A cast that is kept although its weight has changed.

   A network that computes in 16 bits on fp32 weights casts each weight before it uses it, and a
   framework keeps the result, so that a weight that is used twice is cast once. The key is the
   weight's address. An optimizer changes weights in place: the address stays, and the kept cast is
   of the weight before the step. It must be dropped at the latest when the weights change. Where it
   is not, what reads it sees the first weights for ever: an evaluation gives one loss throughout a
   training; a training loop inside of one outer autocast learns nothing from its steps, though the
   masters move; and a policy compared with its own past differs by nothing.

   Both arms train a small network by the trainer's own update. In the buggy one the half weights of
   the first forward pass are put back before each evaluation, or before each pass. In the column of
   real numbers stands the same training in fp32, which casts nothing and runs on every backend. The
   bound is a margin, an eighth of the first loss, and no error bound. */
#include "cases/fixture/bug.h"
#include "cases/fixture/tiny_state.h"

#include <math.h>

enum { STEPS = 30, EVERY = 5, EVALUATIONS = STEPS / EVERY + 1 };

static const double rate = 4e-3;

enum reader { NOBODY, EVALUATION, TRAINING };

struct ends {
    double first; /* loss of the first batch, before and after the training */
    double last;
    double evaluated[EVALUATIONS];
    double moved; /* the largest change of a master */
};

static double moved(struct hc_tiny *tiny, const struct hc_tiny_state *start)
{
    struct hc_tiny_state now = hc_tiny_save(tiny);
    double most = 0;
    for (int i = 0; !tiny->failed && i < hc_net_plan(tiny->net)->parameters; i++) {
        const struct hc_tensor *was = &start->tensor[i * HC_TINY_TENSORS + HC_TINY_MASTER];
        const struct hc_tensor *is = &now.tensor[i * HC_TINY_TENSORS + HC_TINY_MASTER];
        for (int64_t e = 0; e < hc_tensor_count(was); e++)
            most = fmax(most, fabs(hc_tensor_get(is, e) - hc_tensor_get(was, e)));
    }
    return most;
}

/* The loss over other batches, by kept casts or by the present ones. */
static double evaluate(struct hc_tiny *tiny, const struct hc_tiny_state *kept, bool stale)
{
    struct hc_tiny_state now = hc_tiny_save(tiny);
    if (stale)
        hc_tiny_load_model(tiny, kept, true);
    double loss = hc_tiny_validate(tiny);
    hc_tiny_load(tiny, &now);
    return loss;
}

/* Under `amp` with norms in half, too: every weight is in half and has a master. */
static bool train(struct hc_check *check, const char *name, enum reader reads_kept,
                  struct ends *ends, struct hc_picture *picture, const char *series)
{
    struct hc_tiny tiny;
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    if (recipe.model == HC_FP16)
        recipe.norm = HC_FP16;
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, &recipe);
    struct hc_tiny_state kept = hc_tiny_save(&tiny);
    for (int step = 0; step <= STEPS && !tiny.failed; step++) {
        if (step % EVERY == 0) {
            double loss = evaluate(&tiny, &kept, reads_kept != NOBODY);
            ends->evaluated[step / EVERY] = loss;
            hc_point(check, picture, series, step, loss);
        }
        if (reads_kept == TRAINING)
            hc_tiny_load_model(&tiny, &kept, false);
        double loss = hc_tiny_step(&tiny, step % STEPS, rate);
        if (step == 0)
            ends->first = loss;
        ends->last = loss;
    }
    ends->moved = moved(&tiny, &kept);
    return hc_tiny_close(&tiny);
}

static void compare(struct hc_check *check, struct hc_exhibits *shown, enum reader reads_kept)
{
    static const struct hc_frame frame = {
        .title = "The evaluation of a small training", .x = "step", .y = "loss", .log_y = true};
    struct hc_picture *picture = hc_picture_new(check, &frame);
    struct ends buggy = {0};
    struct ends fixed = {0};
    struct ends real = {0};
    if (!train(check, "amp", reads_kept, &buggy, picture, "buggy") ||
        !train(check, "amp", NOBODY, &fixed, picture, "fixed") ||
        !train(check, "fp32", NOBODY, &real, picture, "fp32"))
        return;
    const int last = EVALUATIONS - 1;
    double margin = real.first / 8;
    hc_exhibits_add(shown, "evaluation at first", HC_FP32, buggy.evaluated[0], fixed.evaluated[0],
                    real.evaluated[0], margin);
    hc_exhibits_add(shown, "evaluation in the end", HC_FP32, buggy.evaluated[last],
                    fixed.evaluated[last], real.evaluated[last], margin);
    hc_exhibits_add(shown, "a batch's loss at first", HC_FP32, buggy.first, fixed.first, real.first,
                    margin);
    hc_exhibits_add(shown, "its loss in the end", HC_FP32, buggy.last, fixed.last, real.last,
                    margin);
    hc_exhibits_add(shown, "largest way of a master", HC_FP32, buggy.moved, fixed.moved, real.moved,
                    real.moved / 4);
    hc_claim_true(check, "buggy arm: masters move", buggy.moved > 10 * rate);
    for (int i = 1; i < EVALUATIONS; i++)
        hc_claim_value(check, "buggy arm: every evaluation", buggy.evaluated[0],
                       buggy.evaluated[i]);
    hc_claim_value(check, "buggy arm: its loss in the end",
                   reads_kept == EVALUATION ? fixed.last : buggy.first, buggy.last);
}

static void by_evaluation(struct hc_check *check, struct hc_exhibits *shown)
{
    compare(check, shown, EVALUATION);
}

static void by_training(struct hc_check *check, struct hc_exhibits *shown)
{
    compare(check, shown, TRAINING);
}

static const struct hc_case cases[] = {
    HC_BUG("field/cast-cache/weights-cast-cache-eval",
           "The training loss falls, and the evaluation gives the same loss and accuracy each "
           "time.",
           "tinygrad/tinygrad PR 4144, 'Resnet fp16 training with fp32 master weight copy', "
           "https://github.com/tinygrad/tinygrad/pull/4144",
           .play = by_evaluation, .fault = "model-copy-kept",
           .lesson = "Drop kept casts of weights after each step: an evaluation that does not "
                     "change by a bit between two steps reads old weights."),
    HC_BUG("field/cast-cache/autocast-cache-stale-update",
           "Under one outer autocast around the training loop the loss is flat and the KL "
           "divergence from the reference stays about 0.",
           "X-GenGroup/Flow-Factory PR 186, '[trainer,docs] fix: per-forward autocast to avoid "
           "stale weight cache (zero KL / frozen fp32 training)', "
           "https://github.com/X-GenGroup/Flow-Factory/pull/186; NVIDIA/apex PR 132",
           .play = by_training, .fault = "model-copy-kept",
           .lesson = "Enter autocast anew for each forward pass; its cache of casts lives as long "
                     "as the block and does not see changes in place."),
};

HC_CASES(field_plays_cast_cache, cases);

/* The report that started it all: training loss falls, validation loss explodes. */
#include "cases/fixture/tiny_training.h"
#include "cases/fixture/running_tally.h"

#include <math.h>

/* The storage of batch norms as somebody holds it who took references before the conversion. */
struct references {
    int n;
    struct hc_parameter *parameter[2 * HC_MAX_LAYERS];
    struct hc_storage *held[2 * HC_MAX_LAYERS];
};

static struct references take(struct hc_parameter *const *list, int n)
{
    struct references r = {0};
    for (int i = 0; i < n; i++)
        if (list[i]->role == HC_ROLE_NORM || list[i]->role == HC_ROLE_STATISTIC) {
            r.parameter[r.n] = list[i];
            r.held[r.n++] = hc_storage_hold(list[i]->storage);
        }
    return r;
}

/* Puts the held storage into the parameters, or back. */
static void swap(struct references *r)
{
    for (int i = 0; i < r->n; i++) {
        struct hc_storage *other = r->parameter[i]->storage;
        r->parameter[i]->storage = r->held[i];
        r->held[i] = other;
    }
}

static double validate_with(struct hc_tiny *tiny, struct references *r)
{
    swap(r);
    double loss = hc_tiny_validate(tiny);
    swap(r);
    return loss;
}

static void drop(struct references *r)
{
    for (int i = 0; i < r->n; i++)
        hc_storage_drop(r->held[i]);
}

struct losses {
    double training;
    double fixed;      /* validation with what the batch norms have now */
    double statistics; /* with the running statistics of before to_fp16 */
    double parameters; /* with gamma and beta of before to_fp16 */
};

/* One training under fastai-004b-flat, whose conversion gives batch norms new storage. */
static struct losses train(struct hc_check *check, uint64_t seed)
{
    enum { STEPS = 60 };
    struct losses l = {0};
    struct hc_tiny tiny;
    struct references statistics = {0};
    struct references parameters = {0};
    hc_tiny_open(&tiny, check, seed);
    if (!tiny.failed) {
        const struct hc_plan *plan = hc_net_plan(tiny.net);
        statistics = take(hc_net_statistics(tiny.net), plan->statistics);
        parameters = take(hc_net_parameters(tiny.net), plan->parameters);
    }
    hc_tiny_start(&tiny, hc_recipe_by_name("fastai-004b-flat"));
    hc_say(check, "step   training   validation   with stale statistics   with stale parameters");
    for (int step = 1; step <= STEPS && !tiny.failed; step++) {
        l.training = hc_tiny_step(&tiny, step, 3e-2);
        if (!hc_running_tally_row(step) && step != STEPS)
            continue;
        l.fixed = hc_tiny_validate(&tiny);
        l.statistics = validate_with(&tiny, &statistics);
        l.parameters = validate_with(&tiny, &parameters);
        hc_say(check, "%4d   %-8.4f   %-10.4f   %-21.4f   %.4f", step, l.training, l.fixed,
               l.statistics, l.parameters);
    }
    drop(&statistics);
    drop(&parameters);
    if (tiny.failed)
        l.training = (double)NAN;
    hc_tiny_close(&tiny);
    return l;
}

/* The training always has seed 1, so that the verdict does not depend on the seed of the run: of
   the seeds 0 to 7 all but 4 show the symptom. Stale gamma and beta alone do not make the loss
   explode. */
static void explodes(struct hc_check *check)
{
    const double guessing = log(2);
    struct losses l = train(check, 1);
    if (isnan(l.training))
        return;
    hc_claim_true(check, "training loss falls below a tenth of guessing",
                  l.training < guessing / 10);
    hc_claim_true(check, "validation loss too, with present statistics", l.fixed < guessing / 10);
    hc_claim_true(check, "with stale statistics it is 4 times guessing's, or more",
                  l.statistics > 4 * guessing);
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/validation-explodes",
     .title = "training loss falls and validation loss explodes when evaluation reads running "
              "statistics through references from before to_fp16",
     .source = "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': 'The training "
               "loss keeps improving normally, but the validation loss just explodes (even after "
               "one epoch)'; the thread leaves the cause open",
     .level = HC_STANDARD,
     .run = explodes},
};

HC_CASES(batchnorm_validation, cases);

#include "cli/training/training.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/choose.h"
#include "cli/ranks/ranks.h"
#include "cli/run/outside.h"
#include "cli/training/agree.h"
#include "op/text.h"
#include "settings.h"
#include "train/update/recipe_fields.h"

enum { MAX_READ = 64 };

void hc_training_folder(const struct hc_recipe *recipe, uint64_t seed, char *name, size_t bytes)
{
    (void)snprintf(name, bytes, "%s-seed%llu", recipe->name, (unsigned long long)seed);
    for (char *slash = name; (slash = strchr(slash, '/')) != NULL;)
        *slash = '_';
}

const struct hc_recipe *hc_training_recipe(const struct hc_training *t, const char *text,
                                           size_t length)
{
    static struct {
        struct hc_recipe recipe;
        char name[HC_RECIPE_NAME];
    } read[MAX_READ];
    static int count;
    char all[2 * HC_RECIPE_NAME];
    int used = snprintf(all, sizeof all, "%.*s", (int)length, text);
    for (int i = 0; i < t->overrides.count && used >= 0 && used < (int)sizeof all; i++) {
        if (hc_is_setting(t->overrides.word[i])) {
            if (hc_setting_take(t->overrides.word[i]) != HC_OK)
                return NULL;
            continue;
        }
        used += snprintf(all + used, sizeof all - (size_t)used, "+%s", t->overrides.word[i]);
    }
    if (used < 0 || used >= (int)sizeof all || count == MAX_READ) {
        (void)hc_fail(HC_INVALID, "too many recipes or overrides");
        return NULL;
    }
    if (hc_recipe_read(&read[count].recipe, read[count].name, all, (size_t)used) != HC_OK)
        return NULL;
    return &read[count++].recipe;
}

/* 5067378 as 5,067,378. */
static const char *grouped(int64_t number, char text[32])
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)number);
    int at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static const char *optimizer(const struct hc_recipe *r)
{
    if (r->optimizer == HC_OPTIMIZER_SGD)
        return r->nesterov ? "SGD with Nesterov's momentum" : "SGD";
    return r->decay == HC_DECAY_DECOUPLED || r->decay == HC_DECAY_MODEL ? "AdamW" : "Adam";
}

/* Prints each optimizer once. */
static void print_optimizers(const struct hc_recipe *const *recipes, int n)
{
    for (int i = 0; i < n; i++) {
        int same = 0;
        while (same < i && strcmp(optimizer(recipes[same]), optimizer(recipes[i])) != 0)
            same++;
        if (same == i)
            printf("%s%s", i ? " or " : "", optimizer(recipes[i]));
    }
}

static void print_heading(const struct hc_training *t, const struct hc_recipe *const *recipes,
                          int n)
{
    char number[4][32];
    struct hc_plan plan;
    hc_plan_make(t->network, t->set.classes, &plan);
    hc_print_line(stdout, "data      %s", t->set.origin);
    printf("          %s training and %s test images, %d classes:",
           grouped(t->set.train.count, number[0]), grouped(t->set.test.count, number[1]),
           t->set.classes);
    for (int i = 0; i < t->set.classes; i++)
        printf(" %s", t->set.names[i]);
    printf("\nnetwork   %s: %s parameters (%s of batch norm), %s MACs an image forward\n",
           t->network->name, grouped(plan.weights + plan.norm_weights, number[0]),
           grouped(plan.norm_weights, number[1]), grouped(plan.macs, number[2]));
    if (t->lr_find)
        printf("finder    batch %d, backend %s\n", t->batch, t->backend->name);
    else {
        printf("training  %d epoch%s, batch %d, one-cycle to %g, ", t->epochs,
               t->epochs == 1 ? "" : "s", t->batch, t->max_lr);
        print_optimizers(recipes, n);
        if (t->ranks > 1)
            printf(", %d ranks", t->ranks);
        char names[HC_BACKEND_NAMES];
        hc_training_backend_names(t, ", ", names);
        printf(", backend%s %s\n", t->backend_count > 1 ? "s" : "", names);
    }
    (void)fflush(stdout);
}

/* What every training runs, and what some recipes do. */
static const enum hc_op trained[] = {
    HC_OP_cast,           HC_OP_add,          HC_OP_unscale,         HC_OP_master_to_model,
    HC_OP_gemm,           HC_OP_conv2d,       HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter,
    HC_OP_bn_leaky_train, HC_OP_bn_leaky_bwd, HC_OP_bn_leaky_infer,  HC_OP_avg_pool,
    HC_OP_avg_pool_bwd,   HC_OP_xent,         HC_OP_xent_bwd,        HC_OP_scaler_update,
    HC_OP_rates,          HC_OP_step_log,     HC_OP_overflow_verdict};

static enum hc_op updated_by(const struct hc_recipe *r)
{
    if (r->optimizer == HC_OPTIMIZER_SGD)
        return HC_OP_sgd;
    return r->decay == HC_DECAY_DECOUPLED || r->decay == HC_DECAY_MODEL ? HC_OP_adamw : HC_OP_adam;
}

/* What convolutions below half need beside them. */
static const enum hc_op quantised[] = {HC_OP_im2col, HC_OP_col2im, HC_OP_quantize, HC_OP_gemm_q};

static bool quantises_by(const struct hc_recipe *r, enum hc_op op)
{
    bool needed = op == HC_OP_delayed_scale && hc_quant_of(r)->delayed;
    for (size_t i = 0; i < sizeof quantised / sizeof *quantised; i++)
        needed |= quantised[i] == op && r->quant != HC_BY_NONE;
    return needed;
}

static bool needs(const struct hc_recipe *const *recipes, int n, enum hc_op op)
{
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++)
        if (trained[i] == op)
            return true;
    for (int i = 0; i < n; i++)
        if (updated_by(recipes[i]) == op || quantises_by(recipes[i], op))
            return true;
    return false;
}

/* A partial backend is refused before it trains for an hour, and all that it lacks is named. */
static enum hc_status has_ops(const struct hc_backend *backend,
                              const struct hc_recipe *const *recipes, int n)
{
    char lacking[400] = "";
    for (int op = 0; op < HC_OP_COUNT; op++) {
        size_t used = strlen(lacking);
        if (!backend->kernel[op] && needs(recipes, n, (enum hc_op)op))
            (void)snprintf(lacking + used, sizeof lacking - used, "%s%s", used ? ", " : "",
                           hc_ops[op].name);
    }
    return lacking[0]
               ? hc_fail(HC_INVALID, "%s lacks %s, which a training needs; --fallback exact has it",
                         backend->name, lacking)
               : HC_OK;
}

enum hc_status hc_training_choose(struct hc_training *t)
{
    if (t->backend)
        return HC_OK;
    if (!t->takes_several)
        return hc_choose_backend("a training runs", &t->backends, "host", &t->backend);
    enum hc_status status = hc_choose_able(&t->backends, "host", t->several, &t->backend_count);
    t->backend = t->several[0];
    if (t->backend_count == 1)
        t->backend_count = 0;
    return status;
}

enum hc_status hc_training_ranks(struct hc_training *t)
{
    if (!hc_ranks_several())
        return HC_OK;
    if (t->ranks > 0)
        return hc_fail(HC_INVALID,
                       "--ranks makes ranks of one process, and %d processes were "
                       "started; leave it out",
                       hc_ranks()->comm->size);
    t->ranks = hc_ranks()->comm->size;
    return HC_OK;
}

void hc_training_backend_names(const struct hc_training *t, const char *between,
                               char text[HC_BACKEND_NAMES])
{
    (void)snprintf(text, HC_BACKEND_NAMES, "%s", t->backend->name);
    for (int i = 1; i < t->backend_count; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, HC_BACKEND_NAMES - used, "%s%s", between, t->several[i]->name);
    }
}

enum hc_status hc_training_open(struct hc_training *t, const struct hc_recipe *const *recipes,
                                int n)
{
    struct hc_data_options data = {.directory = t->data,
                                   .classes = t->classes,
                                   .seed = t->data_seed,
                                   .train_per_class = t->images,
                                   .test_per_class = (t->images + 4) / 5,
                                   .hold_out_per_class = t->hold_out};
    /* A file that may not grow is then an error, like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    t->network = hc_training_networks[t->network_choice];
    enum hc_status status = hc_training_choose(t);
    if (status == HC_OK)
        status = has_ops(t->backend, recipes, n);
    for (int i = 1; i < t->backend_count && status == HC_OK; i++)
        status = has_ops(t->several[i], recipes, n);
    if (status == HC_OK)
        status = hc_dataset_open(&data, &t->set);
    if (status == HC_OK && t->set.train.count < t->batch)
        status = hc_fail(HC_INVALID, "a batch of %d is more than the %lld training images",
                         t->batch, (long long)t->set.train.count);
    if (!t->alone)
        status = hc_training_agree(t, status, recipes, n);
    if (status == HC_OK)
        print_heading(t, recipes, n);
    return status;
}

void hc_training_close(struct hc_training *t)
{
    hc_dataset_close(&t->set);
}

void hc_training_print_fallback(const struct hc_training *t)
{
    hc_print_fallback(stdout, t->backend);
    for (int i = 1; i < t->backend_count; i++)
        hc_print_fallback(stdout, t->several[i]);
}

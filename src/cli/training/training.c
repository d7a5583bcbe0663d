#include "cli/training/training.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/backend_options.h"
#include "cli/lines.h"
#include "cli/ranks/ranks.h"
#include "cli/run/outside.h"
#include "op/defined.h"
#include "op/digest.h"
#include "settings.h"
#include "train/run/made_on.h"
#include "train/update/recipe_fields.h"

/* The options that `train` and `compare` share. */

static const char *const network_names[] = {"darknet16", "darknet-tiny", "gpt", "gpt-tiny",
                                            "gpt2",      "gpt2-tiny",    NULL};
const struct hc_network *const hc_training_networks[] = {
    &hc_darknet16,  &hc_darknet_tiny, &hc_gpt_small, &hc_gpt_tiny,
    &hc_gpt2_small, &hc_gpt2_tiny,    NULL};

/* What is trained, and on which images. */
static int add_data_options(struct hc_training *t, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "data",
         .value = "PATH",
         .text = &t->data,
         .help = "the folder of CIFAR-10's binary files: data_batch_1..5.bin, test_batch.bin,\n"
                 "batches.meta.txt (default: a synthetic set made from --data-seed); for gpt a\n"
                 "text file, whose last tenth is the test set (default: a synthetic text)"},
        {.name = "classes",
         .value = "LIST",
         .list = &t->classes,
         .help = "use only these classes, such as airplane,dog (default: all ten)"},
        {.name = "data-seed",
         .value = "N",
         .seed = &t->data_seed,
         .help = "seed of the synthetic set (default 1)"},
        {.name = "images",
         .value = "N",
         .count = &t->images,
         .least = 1,
         .most = 5000,
         .help = "training images of each class in the synthetic set (default 500); the test\n"
                 "set has a fifth as many"},
        {.name = "hold-out",
         .value = "N",
         .count = &t->hold_out,
         .least = 1,
         .most = 4999,
         .help = "do not train on the last N training images of each class, and test on them\n"
                 "instead of the test images: to choose a schedule, say (default: none)"},
        {.name = "network",
         .value = "NET",
         .choice = &t->network_choice,
         .choices = network_names,
         .help = "darknet16 (default): Darknet([1, 2, 2, 2, 2], nf=16); or\n"
                 "darknet-tiny: [1, 1, 1], nf=4, for a quick look; gpt: a Llama of 4 blocks,\n"
                 "width 128 and a context of 128 bytes; gpt-tiny: 2 blocks, width 32 and a\n"
                 "context of 16 bytes; or gpt2 and gpt2-tiny, of these sizes, with layer norms,\n"
                 "learned positions and gelu"},
        {.name = "set",
         .value = "KEY=VALUE",
         .words = &t->overrides,
         .help = "override a field of the recipe, such as loss_scale=65536 or eps=1e-4; may be\n"
                 "given more than once (halfcheck list recipes --json prints the "
                 "fields).\n" HC_SETTINGS_HELP},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* How it is trained, and where. */
static int add_run_options(struct hc_training *t, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "epochs",
         .value = "N",
         .count = &t->epochs,
         .least = 1,
         .most = 10000,
         .help = "passes over the training images (default 5); an epoch of a gpt is 1600 pieces\n"
                 "of the text (default 3, of gpt-tiny 8)"},
        {.name = "batch",
         .value = "N",
         .count = &t->batch,
         .least = 1,
         .most = 4096,
         .help = "images in a step, over all ranks together (default 64; for a gpt pieces of\n"
                 "the text, default 16)"},
        {.name = "lr",
         .value = "X",
         .real = &t->max_lr,
         .least = 1e-12,
         .most = 1e6,
         .help = "the largest learning rate of the schedule (default 0.003; for a gpt 0.002)"},
        {.name = "seed",
         .value = "N",
         .seed = &t->seed,
         .help = "seed of the initial weights, order and augmentation (default 1)"},
        {.include = hc_backend_options(
             &t->backends, HC_TAKES_FALLBACK | HC_HAS_ITS_OWN_SET,
             "the backend that trains (default host; see halfcheck list backends)")},
        {.name = "threads",
         .value = "N",
         .count = &t->threads,
         .most = 1024,
         .help = "threads of the backend (default 0: one per core)"},
        {.name = "checkpoint-every",
         .value = "N",
         .count = &t->checkpoint_every,
         .most = 1e9,
         .help = "steps between checkpoints (default 0: one at the end of every epoch)"},
        {.name = "measure-every",
         .value = "N",
         .count = &t->measure_every,
         .most = 1e9,
         .help = "steps between those whose lost bits are measured (default 0: every step on\n"
                 "the CPU, every 50th on a device)"},
        {.name = "resume",
         .flag = &t->resume,
         .help = "continue from the checkpoint, to the same bits"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

void hc_training_options(struct hc_training *t, struct hc_option *options)
{
    *t = (struct hc_training){.seed = 1, .data_seed = 1, .images = 500};
    int n = add_data_options(t, options);
    n += add_run_options(t, options + n);
    assert(n == HC_TRAINING_OPTIONS);
}

void hc_training_settle(struct hc_training *t)
{
    t->network = hc_training_networks[t->network_choice];
    struct hc_train_usual usual = hc_train_usual(t->network);
    t->epochs = t->epochs ? t->epochs : usual.epochs;
    t->batch = t->batch ? t->batch : usual.batch;
    t->max_lr = t->max_lr != 0 ? t->max_lr : usual.max_lr;
}

enum { TEXT = 2048 };

/* What the ranks of a job compare before they train together (cli/ranks/ranks.h). */

static uint64_t digest_of_images(uint64_t state, const struct hc_images *images)
{
    size_t count = (size_t)images->count;
    state = hc_digest_bytes(state, images->labels, count * sizeof *images->labels);
    return hc_digest_bytes(state, images->pixels, count * HC_IMAGE_BYTES);
}

static void describe_recipes(const struct hc_recipe *const *recipes, int n, char text[TEXT])
{
    char value[HC_FIELD_TEXT];
    uint64_t digest = 0;
    int used = 0;
    for (int i = 0; i < n; i++) {
        for (int field = 0; field < hc_recipe_fields(); field++) {
            hc_recipe_field_text(recipes[i], field, value);
            digest = hc_digest_bytes(digest, value, strlen(value));
        }
        if (used < TEXT - 32)
            used += snprintf(text + used, (size_t)(TEXT - 32 - used), "%s%s", i ? ", " : "",
                             recipes[i]->name);
    }
    used = used < TEXT - 32 ? used : TEXT - 33;
    (void)snprintf(text + used, (size_t)(TEXT - used), " [%016llx]", (unsigned long long)digest);
}

/* The digest comes first, because where the images come from may be a long path. */
static void describe_data(const struct hc_dataset *set, char text[TEXT])
{
    uint64_t digest = set->text.bytes
                          ? hc_digest_bytes(0, set->text.byte, (size_t)set->text.bytes)
                          : digest_of_images(digest_of_images(0, &set->train), &set->test);
    (void)snprintf(text, TEXT, "%016llx: %s", (unsigned long long)digest, set->origin);
}

static void describe_backend(const struct hc_backend *backend,
                             const struct hc_recipe *const *recipes, int n, char text[TEXT])
{
    char made[TEXT] = "";
    char shown[HC_MADE_ON_SHOWN];
    for (int i = 0; i < n; i++) {
        char words[TEXT] = "";
        hc_made_on(backend, NULL, recipes[i], words, sizeof words);
        if (!strstr(made, words))
            hc_append(made, sizeof made, "%s", words);
    }
    const char *words = made + (made[0] == ' ');
    hc_made_on_show(words, (int)strlen(words), shown);
    hc_append(text, TEXT, "%s%s%s%s", text[0] ? ", " : "", backend->name, shown[0] ? ": " : "",
              shown);
}

/* All ranks come with whether they can train, and with what decides the bits of a training beside
   the command line, which they have compared already: every field of the recipes, every image, and
   how each backend multiplies on this rank's processor. A rank that differs is refused, by name. */
static enum hc_status training_agree(const struct hc_training *t, enum hc_status mine,
                                     const struct hc_recipe *const *recipes, int n)
{
    char recipe[TEXT] = "";
    char data[TEXT] = "";
    char backends[TEXT] = "";
    if (!hc_ranks_several())
        return mine;
    if (mine == HC_OK) {
        describe_recipes(recipes, n, recipe);
        describe_data(&t->set, data);
        describe_backend(t->backend, recipes, n, backends);
        for (int b = 1; b < t->backend_count; b++)
            describe_backend(t->several[b], recipes, n, backends);
    }
    const struct hc_ranks_fact facts[] = {
        {"trains with", recipe}, {"has the images", data}, {"computes on", backends}};
    return hc_ranks_agree("training", mine, facts, 3);
}

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
    if (hc_recipe_read_for(t->network, &read[count].recipe, read[count].name, all, (size_t)used) !=
        HC_OK)
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

/* Adds each optimizer once. */
static void add_optimizers(struct hc_lines *lines, const struct hc_recipe *const *recipes, int n)
{
    for (int i = 0; i < n; i++) {
        int same = 0;
        while (same < i && strcmp(optimizer(recipes[same]), optimizer(recipes[i])) != 0)
            same++;
        if (same == i)
            hc_lines_add(lines, "%s%s", i ? " or " : "", optimizer(recipes[i]));
    }
}

enum { HEADING = 10 }; /* the column behind the word that says what a line is about */

static void print_about(const char *word, struct hc_lines *lines)
{
    printf("%-*s", HEADING, word);
    hc_print_folded(stdout, HEADING, HEADING, lines->text);
    *lines = (struct hc_lines){0};
}

static void print_data(const struct hc_training *t)
{
    char number[2][32];
    struct hc_lines lines = {0};
    hc_lines_add(&lines, "%s", t->set.origin);
    print_about("data", &lines);
    if (t->network->gpt)
        hc_lines_add(
            &lines, "%s bytes to train on, %s to test on; %.3f nats a byte by pairs of bytes",
            grouped(t->set.text.trained, number[0]),
            grouped(t->set.text.bytes - t->set.text.trained, number[1]), t->set.text.pairs);
    else
        hc_lines_add(&lines, "%s training and %s test images, %d classes:",
                     grouped(t->set.train.count, number[0]), grouped(t->set.test.count, number[1]),
                     t->set.classes);
    for (int i = 0; i < t->set.classes; i++)
        hc_lines_add(&lines, " %s", t->set.names[i]);
    print_about("", &lines);
}

static void print_heading(const struct hc_training *t, const struct hc_recipe *const *recipes,
                          int n)
{
    char number[3][32];
    struct hc_plan plan;
    struct hc_lines lines = {0};
    hc_plan_make(t->network, t->set.classes, &plan);
    bool text = t->network->gpt != NULL;
    print_data(t);
    hc_lines_add(&lines, "%s: %s parameters (%s of %s), %s MACs %s forward", t->network->name,
                 grouped(plan.weights + plan.norm_weights, number[0]),
                 grouped(plan.norm_weights, number[1]), text ? "norms" : "batch norm",
                 grouped(plan.macs, number[2]), text ? "a piece" : "an image");
    print_about("network", &lines);
    if (t->lr_find) {
        hc_lines_add(&lines, "batch %d, backend %s", t->batch, t->backend->name);
        print_about("finder", &lines);
    } else {
        char names[HC_BACKEND_NAMES];
        hc_lines_add(&lines, "%d epoch%s, batch %d, %s to %g, ", t->epochs,
                     t->epochs == 1 ? "" : "s", t->batch, text ? "warmup and cosine" : "one-cycle",
                     t->max_lr);
        add_optimizers(&lines, recipes, n);
        if (t->ranks > 1)
            hc_lines_add(&lines, ", %d ranks", t->ranks);
        hc_training_backend_names(t, ", ", names);
        hc_lines_add(&lines, ", backend%s %s", t->backend_count > 1 ? "s" : "", names);
        print_about("training", &lines);
    }
    (void)fflush(stdout);
}

/* What every training runs; that of a Darknet, and of a GPT; and what some recipes do. */
static const enum hc_op trained[] = {
    HC_OP_cast,  HC_OP_add,      HC_OP_unscale,         HC_OP_master_to_model,
    HC_OP_gemm,  HC_OP_xent,     HC_OP_xent_bwd,        HC_OP_scaler_update,
    HC_OP_rates, HC_OP_step_log, HC_OP_overflow_verdict};
static const enum hc_op of_images[] = {
    HC_OP_conv2d,       HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter, HC_OP_bn_leaky_train,
    HC_OP_bn_leaky_bwd, HC_OP_bn_leaky_infer,  HC_OP_avg_pool,          HC_OP_avg_pool_bwd};
static const enum hc_op of_text[] = {
    HC_OP_embedding,          HC_OP_embedding_backward, HC_OP_rms_norm_kept,
    HC_OP_rms_norm_backward,  HC_OP_rotary_halves,      HC_OP_attention,
    HC_OP_attention_backward, HC_OP_swap_axes,          HC_OP_swiglu,
    HC_OP_swiglu_backward};

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

static bool needs(const struct hc_network *network, const struct hc_recipe *const *recipes, int n,
                  enum hc_op op)
{
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++)
        if (trained[i] == op)
            return true;
    for (size_t i = 0; !network->gpt && i < sizeof of_images / sizeof *of_images; i++)
        if (of_images[i] == op)
            return true;
    for (size_t i = 0; network->gpt && i < sizeof of_text / sizeof *of_text; i++)
        if (of_text[i] == op)
            return true;
    for (int i = 0; i < n; i++)
        if (updated_by(recipes[i]) == op || quantises_by(recipes[i], op))
            return true;
    return false;
}

/* A partial backend is refused before it trains for an hour, and all that it lacks is named. */
static enum hc_status has_ops(const struct hc_backend *backend, const struct hc_network *network,
                              const struct hc_recipe *const *recipes, int n)
{
    char lacking[400] = "";
    for (int op = 0; op < HC_OP_COUNT; op++) {
        if (!backend->kernel[op] && needs(network, recipes, n, (enum hc_op)op))
            hc_append(lacking, sizeof lacking, "%s%s", lacking[0] ? ", " : "", hc_ops[op].name);
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
        hc_append(text, HC_BACKEND_NAMES, "%s%s", between, t->several[i]->name);
    }
}

/* What a GPT cannot do is said before anything is printed. */
static enum hc_status suits_text(const struct hc_training *t)
{
    const char *name = t->network->name;
    if (t->classes || t->images != 500 || t->hold_out)
        return hc_fail(HC_INVALID, "%s is trained on text, which has no %s", name,
                       t->classes    ? "--classes"
                       : t->hold_out ? "--hold-out"
                                     : "--images");
    return HC_OK;
}

enum hc_status hc_training_open(struct hc_training *t, const struct hc_recipe *const *recipes,
                                int n)
{
    struct hc_data_options data = {.text = t->network->gpt != NULL,
                                   .directory = t->data,
                                   .classes = t->classes,
                                   .seed = t->data_seed,
                                   .train_per_class = t->images,
                                   .test_per_class = (t->images + 4) / 5,
                                   .hold_out_per_class = t->hold_out};
    /* A file that may not grow is then an error, like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    enum hc_status status = hc_training_choose(t);
    if (status == HC_OK && t->network->gpt)
        status = suits_text(t);
    if (status == HC_OK)
        status = has_ops(t->backend, t->network, recipes, n);
    for (int i = 1; i < t->backend_count && status == HC_OK; i++)
        status = has_ops(t->several[i], t->network, recipes, n);
    if (status == HC_OK)
        status = hc_dataset_open(&data, &t->set);
    if (status == HC_OK && t->set.train.count < t->batch)
        status = hc_fail(HC_INVALID, "a batch of %d is more than the %lld training images",
                         t->batch, (long long)t->set.train.count);
    if (!t->alone)
        status = training_agree(t, status, recipes, n);
    if (status == HC_OK)
        print_heading(t, recipes, n);
    return status;
}

int64_t hc_training_tests(const struct hc_training *t)
{
    return t->set.test.count * (t->network->gpt ? t->network->gpt->length : 1);
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

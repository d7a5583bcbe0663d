/* halfcheck compare: recipes side by side, a study that a protocol asks for, or drift. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/protocol/conclusion.h"
#include "cli/ranks/ranks.h"
#include "cli/run/shard.h"
#include "cli/training/comparison.h"
#include "cli/training/drift_ranks.h"
#include "cli/training/drift_record.h"
#include "cli/training/folder.h"
#include "cli/training/training.h"
#include "op/text.h"

struct protocol_request {
    const char *path;
    const char *shard; /* "3/16", or NULL */
    bool conclude;     /* train nothing: say what the runs that are there show */
};

/* A comparison that a protocol asks for. */

static struct hc_protocol protocol;
static struct hc_study study;
static struct hc_conclusion conclusion;

/* What the protocol decides must not be decided by an option, too. */
static enum hc_status refuse_options(const struct hc_training *t)
{
    struct hc_option unused[HC_MAX_OPTIONS + 1];
    struct hc_training plain;
    memset(unused, 0, sizeof unused);
    hc_training_options(&plain, unused);
    const struct {
        bool given;
        const char *name;
    } rows[] = {{t->classes != NULL, "--classes"},
                {t->seed != plain.seed, "--seed"},
                {t->max_lr != plain.max_lr, "--lr"},
                {t->epochs != plain.epochs, "--epochs"},
                {t->batch != plain.batch, "--batch"},
                {t->images != plain.images, "--images"},
                {t->hold_out != plain.hold_out, "--hold-out"},
                {t->network_choice != plain.network_choice, "--network"},
                {t->measure_every != plain.measure_every, "--measure-every"},
                {t->overrides.count > 0, "--set"},
                {t->backends.named.count > 0, "--backend"},
                {(protocol.synthetic || protocol.text) && t->data != NULL, "--data"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            return hc_fail(HC_INVALID, "the protocol decides that; leave out %s", rows[i].name);
    return HC_OK;
}

static enum hc_status open_study(struct hc_training *t, const struct protocol_request *request)
{
    enum hc_status status = hc_protocol_read(request->path, &protocol);
    if (status == HC_OK)
        status = refuse_options(t);
    if (status == HC_OK && !protocol.synthetic && !protocol.text && !t->data && !request->conclude)
        status = hc_fail(HC_INVALID, "%s is about CIFAR-10: say where it lies, with --data DIR",
                         request->path);
    if (status == HC_OK)
        status = hc_study_open(&study, &protocol, request->path, t);
    study.folder = t->out ? t->out : "out/study";
    if (status == HC_OK && request->shard)
        status = hc_shard_read(request->shard, &study.shard);
    if (status == HC_OK && !request->conclude)
        status = hc_training_open(t, study.recipe, protocol.arms + 1);
    if (status == HC_OK)
        study.test_images = hc_training_tests(t);
    return status;
}

static int conclude_study(const struct hc_training *t, const struct protocol_request *request)
{
    int lock = -1;
    if (hc_study_read(&study) != HC_OK || hc_conclude(&study, &conclusion) != HC_OK)
        return hc_complain_message();
    if (!request->conclude)
        (void)putchar('\n');
    hc_conclusion_print(&conclusion, stdout);
    if (protocol.text || t->set.synthetic)
        printf("%s\n", protocol.text ? "The text is made, of 64 words."
                                     : "The images are synthetic, not CIFAR-10.");
    /* If several processes end together, one of them writes. */
    if (hc_folder_lock(study.folder, &lock) != HC_OK)
        return HC_AS_CLAIMED;
    enum hc_status status = hc_conclusion_write(&conclusion);
    if (status == HC_OK) {
        (void)putchar('\n');
        hc_print_line(
            stdout, "record: %s/record.json; table.txt, runs.csv, pairs.csv and the runs beside it",
            study.folder);
        hc_conclusion_draw(&conclusion);
    }
    hc_folder_unlock(lock);
    if (status != HC_OK)
        return hc_complain_message();
    return hc_conclusion_failures(&conclusion) + hc_conclusion_undecided(&conclusion) == 0
               ? HC_AS_CLAIMED
               : HC_CLAIM_FAILED;
}

/* Trains what the protocol asks for, and concludes. `training` has the options as they were typed;
   those that the protocol decides are set. Returns the exit status: 0 if no claim failed, 1 if one
   did or is not decided, 2 after a failure, with a line on stderr. */
static int protocol_command(struct hc_training *t, const struct protocol_request *request)
{
    int status = HC_AS_CLAIMED;
    enum hc_status opened = open_study(t, request);
    if (opened == HC_OK && !request->conclude)
        opened = hc_study_train(&study);
    if (opened != HC_OK)
        status = hc_complain_message();
    else if (hc_ranks_speaks())
        status = conclude_study(t, request);
    hc_training_close(t);
    return status;
}

const struct hc_command hc_command_compare;

static const char default_folder[] = "out/compare";

/* The run resumes from its checkpoint, if there is one and --resume was given. Without --resume
   an old checkpoint is removed: a --resume after an interruption would take it for this
   comparison's. */
static enum hc_status prepare_checkpoint(const struct hc_comparison *c, struct hc_training_run *run)
{
    char checkpoint[1100];
    (void)snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint", run->folder);
    if (access(checkpoint, F_OK) != 0)
        return HC_OK;
    run->resume = c->training->resume;
    if (run->resume)
        return HC_OK;
    int lock;
    enum hc_status status = hc_folder_lock(run->folder, &lock);
    if (status == HC_OK && unlink(checkpoint) != 0)
        status = hc_fail(HC_IO, "%s: %s", checkpoint, strerror(errno));
    hc_folder_unlock(lock);
    return status;
}

static enum hc_status make_runs(struct hc_comparison *c, const char *folder)
{
    if (strlen(folder) > 900)
        return hc_fail(HC_INVALID, "the name of the output folder is too long");
    c->run = calloc((size_t)c->recipes * (size_t)c->seeds, sizeof *c->run);
    if (c->run == NULL)
        return hc_fail(HC_NO_MEMORY, "no memory for the results");
    enum hc_status status = HC_OK;
    struct hc_training_run *run;
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL && status == HC_OK; i++) {
        char name[HC_COMPARED_LABEL + 40];
        int at = (int)((run - c->run) % c->recipes);
        run->recipe = c->recipe[at];
        run->seed = c->training->seed + (uint64_t)((run - c->run) / c->recipes);
        hc_comparison_folder(c, at, run->seed, name, sizeof name);
        (void)snprintf(run->folder, sizeof run->folder, "%s/%s", folder, name);
        if (hc_ranks_speaks())
            status = prepare_checkpoint(c, run);
    }
    return status;
}

static enum hc_status train_all(struct hc_comparison *c, const char *folder)
{
    enum hc_status status = make_runs(c, folder);
    struct hc_training_run *run;
    for (int i = 0; status == HC_OK && (run = hc_comparison_next(c, i)) != NULL; i++)
        status =
            hc_training_run(hc_comparison_training(c, (int)((run - c->run) % c->recipes)), run);
    return status;
}

static int conclude_comparison(const struct hc_comparison *c, const char *folder)
{
    hc_comparison_print(c, stdout);
    if (c->training->set.synthetic)
        printf("\n%s\n", c->training->set.origin);
    if (hc_comparison_write(c, folder) != HC_OK)
        return hc_complain_message();
    hc_training_print_fallback(c->training);
    (void)putchar('\n');
    hc_print_line(stdout,
                  "record: %s/record.json; runs.csv, table.txt and a folder per run beside it",
                  folder);
    hc_comparison_draw(c, folder);
    return hc_comparison_failures(c) == 0 ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

/* Which recipes are compared, and over how many seeds. */
static int add_recipe_options(struct hc_comparison *c, const char **recipes, int *seeds,
                              struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "recipes",
         .value = "R,R:N,...",
         .list = recipes,
         .help = "two or more recipes (see halfcheck list recipes). R:N runs N seeds of R, 'all'\n"
                 "stands for all that are not named yet, and overrides may follow a name:\n"
                 "amp,amp+eps=1e-4. The base is fp32, or else the first"},
        {.name = "seeds",
         .value = "N",
         .count = seeds,
         .least = 1,
         .most = HC_MAX_SEEDS,
         .help = "runs of each recipe, with --seed and the numbers after it (default 1);\n"
                 "with --drift: how many seeds each recipe is measured with"},
        {.name = "margin",
         .value = "POINTS",
         .real = &c->margin,
         .least = 1e-6,
         .most = 100,
         .help = "difference in accuracy up to which two recipes are equivalent (default 1)"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* Where the results go, and what is measured instead of accuracy. */
static int add_drift_options(struct hc_training *training, struct hc_comparison *c,
                             const char **ranks, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "out",
         .value = "DIR",
         .text = &training->out,
         .help = "folder of the results; old ones are replaced (default out/compare)"},
        {.name = "drift",
         .flag = &c->drift,
         .help = "instead of training to the end, measure how far each recipe drifts from\n"
                 "fp64, and which of its roundings cause that"},
        {.name = "steps",
         .value = "N",
         .count = &c->steps,
         .least = 1,
         .most = 1000,
         .help = "with --drift: how many steps, each with a tenth of --lr (default 10)"},
        {.name = "ranks",
         .value = "N,N,...",
         .list = ranks,
         .help = "with --drift: measure with each batch shared by N ranks, for each N, such as\n"
                 "1,2,4,8; their average is a source of its own"},
        {.name = "shares",
         .flag = &c->shares,
         .help = "with --drift: print shares of the sources that add up to the squared error, and\n"
                 "which sources cancel. This runs all sets of sources, so it takes some 12 times\n"
                 "as long"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* A comparison that a file describes. */
static int add_protocol_options(struct protocol_request *request, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "protocol",
         .value = "FILE",
         .text = &request->path,
         .help = "train as this file says until its question is decided, and answer it;\n"
                 "docs/does-it-cost-accuracy.md has an example. The same command continues after\n"
                 "an interruption; several processes with one --out share the work"},
        {.name = "shard",
         .value = "K/N",
         .text = &request->shard,
         .help = "with --protocol: train part K of N of the pairs, up to the last look"},
        {.name = "conclude",
         .flag = &request->conclude,
         .help = "with --protocol: train nothing, and say what the existing runs show"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static bool read_settings(struct hc_training *training, struct hc_comparison *c,
                          struct protocol_request *request, const char **recipes,
                          const char **ranks, int *seeds, int argc, char **argv, int *status)
{
    int words;
    struct hc_option options[HC_MAX_OPTIONS + 1] = {0};
    int n = add_recipe_options(c, recipes, seeds, options);
    hc_training_options(training, options + n);
    training->takes_several = true;
    (void)hc_backend_options(
        &training->backends, HC_TAKES_FALLBACK | HC_SEVERAL_BACKENDS | HC_HAS_ITS_OWN_SET,
        "the backends that train (default host; see halfcheck list backends).\n"
        "With several, each recipe runs on each, and the base on host or else\n"
        "on the first");
    n += HC_TRAINING_OPTIONS;
    n += add_drift_options(training, c, ranks, options + n);
    (void)add_protocol_options(request, options + n);
    if (!hc_read_options(&hc_command_compare, options, argc, argv, &words, status))
        return false;
    if (words > 0)
        *status =
            hc_complain("compare takes no argument '%s'; see: halfcheck compare --help", argv[1]);
    return words == 0;
}

static int run_compare(int argc, char **argv)
{
    int status;
    const char *recipes = NULL;
    const char *ranks = NULL;
    struct hc_training training;
    struct hc_comparison c = {.training = &training, .margin = 1, .steps = 10};
    struct protocol_request request = {0};
    int seeds = 1;
    if (!read_settings(&training, &c, &request, &recipes, &ranks, &seeds, argc, argv, &status))
        return status;
    if (!request.path)
        hc_training_settle(&training);
    if (c.shares && !c.drift)
        return hc_complain("--shares of compare is an option of --drift");
    if (request.path) {
        if (recipes || seeds != 1 || c.margin != 1 || c.drift)
            return hc_complain("the protocol decides that; leave out --recipes, --seeds, --margin "
                               "and --drift");
        return protocol_command(&training, &request);
    }
    if (request.shard || request.conclude)
        return hc_complain("--shard and --conclude go with --protocol");
    const char *folder = training.out == NULL ? default_folder : training.out;
    if (hc_training_choose(&training) != HC_OK || hc_training_ranks(&training) != HC_OK ||
        hc_comparison_choose(&c, recipes, seeds) != HC_OK ||
        hc_drift_read_ranks(ranks, &c) != HC_OK || hc_drift_check_ranks(&c) != HC_OK)
        return hc_complain_message();
    training.ranks = c.drift ? 0 : training.ranks; /* those of a job do not share its steps */
    int lock = -1;
    enum hc_status opened = hc_training_open(&training, c.recipe, c.recipes);
    hc_comparison_part(&training);
    if (opened != HC_OK || (hc_ranks_speaks() && hc_folder_lock(folder, &lock) != HC_OK))
        status = hc_complain_message();
    else if (c.drift)
        status = hc_ranks_speaks() ? hc_drift_command(&c, c.steps, folder) : HC_AS_CLAIMED;
    else if (train_all(&c, folder) == HC_OK)
        status = hc_ranks_speaks() ? conclude_comparison(&c, folder) : HC_AS_CLAIMED;
    else
        status = hc_complain_message();
    hc_folder_unlock(lock);
    hc_training_close(&training);
    free(c.run);
    return status;
}

const struct hc_command hc_command_compare = {
    .name = "compare",
    .usage = "--recipes R,R,... [--seeds N] [options]",
    .summary = "train a network under several recipes, side by side",
    .text = "Runs with the same seed share initial weights, data order and augmentation, and are\n"
            "compared in pairs. One pair decides nothing: two runs that differ in one bit drift\n"
            "apart within a few hundred steps. From two seeds on, two one-sided t tests on the\n"
            "paired accuracies decide whether a recipe is equivalent to the base, different from\n"
            "it, or undecided. The base is fp32 if it is among the recipes, otherwise the first\n"
            "one. The exit status is 1 if a run does not learn or a recipe is shown to differ.\n\n"
            "After an interruption of any kind, the same command with --resume goes on to the\n"
            "same bits. You may add recipes or seeds then; existing runs are kept.\n\n"
            "columns:\n\n"
            "  dW = 0    entries of the weights' gradients that are 0 in their format\n"
            "  dY = 0    the same for the gradients of the layers' outputs\n"
            "  unscaled  what the column before it would be without the loss scale\n"
            "  lost      weight updates below half an ulp of the weight\n"
            "  MiB       the most memory of the backend that the run held",
    .on_ranks = true,
    .run = run_compare,
};

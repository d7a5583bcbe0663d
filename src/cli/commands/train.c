#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "cli/ranks/ranks.h"
#include "cli/training/training.h"
#include "cli/training/machine_load.h"
#include "train/parallel/parallel.h"
#include "train/update/recipe_fields.h"

const struct hc_command hc_command_train;

/* Prints what was added since the last time. */
static void say(struct hc_lines *lines)
{
    hc_print_folded(stdout, 0, 2, lines->text);
    *lines = (struct hc_lines){0};
}

static int conclude_training(const struct hc_training *t, const struct hc_training_run *run)
{
    const struct hc_train_result *r = &run->result;
    bool text = t->network->gpt != NULL;
    struct hc_lines lines = {0};
    (void)putchar('\n');
    hc_lines_add(&lines,
                 "accuracy %.2f %% on %lld test %s, test loss %.4f; %lld steps, %lld skipped, "
                 "final scale %g",
                 100 * r->accuracy, (long long)t->set.test.count, text ? "pieces" : "images",
                 r->test_loss, (long long)r->steps, (long long)r->skipped, r->final_scale);
    say(&lines);
    hc_lines_add(&lines,
                 "underflow of the weights' gradients %.3g %% (%.3g %% without the loss scale), of "
                 "the layers' outputs' %.3g %% (%.3g %%); updates lost %.3g %%",
                 100 * r->underflow, 100 * r->unscaled, 100 * r->activation_underflow,
                 100 * r->activation_unscaled, 100 * r->update_lost);
    say(&lines);
    if (isfinite(r->images_per_second))
        printf("%.0f %s/s%s, %.0f s, %.0f MiB\n",
               r->images_per_second * (text ? t->network->gpt->length : 1),
               text ? "tokens" : "images",
               hc_cpu_shared(run->others) ? " beside other work on this machine" : "", r->seconds,
               (double)r->memory / 1048576);
    if (!t->backend->host_memory)
        printf("device graph of a step: %s\n", r->captured);
    hc_training_print_fallback(t);
    hc_lines_add(&lines, "%s/: run.json, epochs.csv, steps.csv, gradients.csv, %scheckpoint%s",
                 run->folder, text ? "" : "predictions.csv, ",
                 t->dump_count > 0 ? ", step-*.safetensors" : "");
    say(&lines);
    if (t->set.synthetic)
        printf("%s\n", t->set.origin);
    if (r->learned)
        return HC_AS_CLAIMED;
    hc_lines_add(&lines, "%s did not learn: %s", run->recipe->name, r->reason);
    printf("FAIL  ");
    hc_print_folded(stdout, 6, 6, lines.text);
    return HC_CLAIM_FAILED;
}

static enum hc_status prepare(struct hc_training *t, const char *recipe,
                              struct hc_training_run *run)
{
    if (recipe == NULL)
        return hc_fail(HC_INVALID, "train needs --recipe; see: halfcheck list recipes");
    run->recipe = hc_training_recipe(t, recipe, strlen(recipe));
    if (run->recipe == NULL)
        return HC_INVALID;
    if (t->lr_find && t->dump_count > 0)
        return hc_fail(HC_INVALID, "--lr-find writes no step files; leave out --dump");
    if (hc_training_ranks(t) != HC_OK)
        return HC_INVALID;
    if (t->lr_find && t->ranks > 1)
        return hc_fail(HC_INVALID, "--lr-find runs on one rank; leave out %s",
                       hc_ranks_several() ? "mpirun or srun" : "--ranks");
    if (hc_parallel_check(t->ranks > 1 ? t->ranks : 1, run->recipe, t->batch) != HC_OK)
        return HC_INVALID;
    if (t->load && (t->lr_find || t->resume))
        return hc_fail(HC_INVALID, "--load begins a training: leave out %s",
                       t->lr_find ? "--lr-find" : "--resume");
    if (t->lr_find && t->resume)
        return hc_fail(HC_INVALID, "--lr-find keeps no checkpoint for --resume to continue from");
    run->seed = t->seed;
    run->resume = t->resume;
    char name[HC_RECIPE_NAME + 32];
    hc_training_folder(run->recipe, t->seed, name, sizeof name);
    int length = t->out != NULL ? snprintf(run->folder, sizeof run->folder, "%s", t->out)
                                : snprintf(run->folder, sizeof run->folder, "out/%s%s", name,
                                           t->lr_find ? "-lr-find" : "");
    return length >= 0 && (size_t)length < sizeof run->folder
               ? HC_OK
               : hc_fail(HC_INVALID, "the name of the output folder is too long");
}

/* "5" or "0,5,100". */
static enum hc_status read_dumps(const char *text, struct hc_training *t)
{
    while (*text) {
        char *end = NULL;
        errno = 0;
        long long step = strtoll(text, &end, 10);
        if (*text < '0' || *text > '9' || (*end != '\0' && *end != ',') || errno != 0)
            return hc_fail(HC_INVALID, "train: --dump takes steps, counted from 0, not '%.80s'",
                           text);
        if (t->dump_count == HC_MAX_DUMPS)
            return hc_fail(HC_INVALID, "train: --dump takes at most %d steps", HC_MAX_DUMPS);
        t->dumps[t->dump_count++] = step;
        text = end + (*end == ',');
    }
    return HC_OK;
}

static bool read_settings(struct hc_training *training, const char **recipe, const char **dumps,
                          int argc, char **argv, int *status)
{
    int words;
    struct hc_option options[HC_MAX_OPTIONS + 1] = {
        {.name = "recipe",
         .value = "R",
         .text = recipe,
         .help = "the precision recipe (see halfcheck list recipes); overrides may follow it:\n"
                 "fastai-004b+loss_scale=65536"}};
    const struct hc_option own[] = {
        {.name = "out",
         .value = "DIR",
         .text = &training->out,
         .help = "folder of the results; old ones are replaced (default out/RECIPE-seedN)"},
        {.name = "lr-find",
         .flag = &training->lr_find,
         .help = "instead of training, draw the loss while the learning rate grows from\n"
                 "1e-7 to 10 in 100 steps or until the loss diverges, and suggest one"},
        {.name = "dump",
         .value = "STEPS",
         .list = dumps,
         .help = "write step-STEP.safetensors of these steps, counted from 0: weights, batch,\n"
                 "activations, gradients, optimizer state and scale, under PyTorch's names"},
        {.name = "load",
         .value = "FILE",
         .text = &training->load,
         .help = "begin with the weights, optimizer state, scale and step in this file of\n"
                 "safetensors: a step file, a state_dict of PyTorch or a checkpoint"},
        {.name = "ranks",
         .value = "N",
         .count = &training->ranks,
         .least = 1,
         .most = HC_MAX_THREAD_RANKS,
         .help = "data parallel: N ranks, which are threads of this process, share each batch\n"
                 "(default 1); under mpirun or srun there are as many as these start"},
    };
    hc_training_options(training, options + 1);
    memcpy(options + 1 + HC_TRAINING_OPTIONS, own, sizeof own);
    if (!hc_read_options(&hc_command_train, options, argc, argv, &words, status))
        return false;
    if (words > 0)
        *status = hc_complain("train takes no argument '%s'; see: halfcheck train --help", argv[1]);
    return words == 0;
}

static int run_train(int argc, char **argv)
{
    int status;
    const char *recipe = NULL;
    const char *dumps = "";
    struct hc_training training;
    struct hc_training_run one = {0};
    if (!read_settings(&training, &recipe, &dumps, argc, argv, &status))
        return status;
    hc_training_settle(&training);
    if (read_dumps(dumps, &training) != HC_OK || prepare(&training, recipe, &one) != HC_OK)
        return hc_complain_message();
    if (hc_training_open(&training, &one.recipe, 1) != HC_OK)
        status = hc_complain_message();
    else if (training.lr_find)
        status = hc_lr_find_command(&training, &one);
    else if (hc_training_run(&training, &one) == HC_OK)
        status = hc_ranks_speaks() ? conclude_training(&training, &one) : HC_AS_CLAIMED;
    else
        status = hc_complain_message();
    hc_training_close(&training);
    return status;
}

const struct hc_command hc_command_train = {
    .name = "train",
    .usage = "--recipe R [options]",
    .summary = "train a network under one precision recipe",
    .text = "Trains on CIFAR-10, or a small GPT on text, with the same ops that `run` checks. The "
            "output folder gets\n"
            "steps.csv (loss, scale, skipped steps, learning rate, and for each layer the\n"
            "underflow and the lost updates), epochs.csv, gradients.csv (a histogram of\n"
            "exponents), run.json (a record), checkpoint and, with --dump, a file of\n"
            "safetensors for each step that is asked for. A run that does not learn fails with\n"
            "status 1. While one training writes into a folder, a second one is refused. Symbolic\n"
            "links in it are replaced, never followed.\n\n"
            "With --lr-find the folder (default out/RECIPE-seedN-lr-find) gets lr_find.csv and\n"
            "its picture; --epochs and --lr are ignored. The status is 1 if the loss diverges\n"
            "before a learning rate can be suggested.",
    .on_ranks = true,
    .run = run_train,
};

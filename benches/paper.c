/* Steps a second of Darknet-16 over GPUs, on paper: nothing is run. What a step takes on one GPU is
   given, from 1 to 20 ms; what the gradients' all-reduces add to it follows from the buckets, the
   schedule's messages and published figures of machines (train/parallel/step_model.h). The ratio is
   what is left of as many GPUs' speed. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "train/parallel/step_model.h"
#include "train/update/recipe_fields.h"

static const int sizes[] = {8, 64};
static const int milliseconds[] = {1, 5, 20};

/* halfcheck's own begins its one all-reduce after the backward pass, in a tree; the others begin
   with the first bucket that is ready. */
static const struct {
    const char *title;
    const char *recipe;
} ways[] = {
    {"own", "amp"},
    {"apex-ddp", "amp+wrapper=apex-ddp"},
    {"torch-ddp", "amp+wrapper=torch-ddp"},
    {"torch-ddp fp16", "amp+wrapper=torch-ddp+reduce=fp16"},
};

static void show(struct hc_bench_run *run, const struct hc_step_model *model, const char *title)
{
    char what[64];
    struct hc_step_time time;
    if (hc_step_model(model, &time) != HC_OK) {
        hc_bench_skip(run, hc_message());
        return;
    }
    (void)snprintf(what, sizeof what, "%d %s, %g ms", model->ranks, title, 1e3 * model->alone);
    hc_bench_rate(run, &(struct hc_rate){.what = what,
                                         .rate = 1 / time.step,
                                         .unit = "steps/s",
                                         .against = "1 GPU",
                                         .other = 1 / model->alone});
}

static void reckon(struct hc_bench_run *run)
{
    struct hc_plan plan;
    hc_plan_make(&hc_darknet16, HC_CLASSES, &plan);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (size_t t = 0; t < sizeof milliseconds / sizeof *milliseconds; t++) {
                struct hc_recipe recipe;
                char name[HC_RECIPE_NAME];
                if (hc_recipe_read(&recipe, name, ways[w].recipe, strlen(ways[w].recipe)) != HC_OK)
                    hc_bench_skip(run, hc_message());
                else
                    show(run,
                         &(struct hc_step_model){&recipe, &plan, &hc_cluster_h100, sizes[s],
                                                 milliseconds[t] / 1e3},
                         ways[w].title);
            }
}

static const struct hc_bench benches[] = {
    {.name = "paper/darknet16",
     .title = "on paper, nothing is run: steps a second of Darknet-16 on 8 and 64 GPUs, against "
              "those of one, whose time is given",
     .run = reckon},
};

const struct hc_bench_table hc_benches_paper;
const struct hc_bench_table hc_benches_paper = {benches, 1};

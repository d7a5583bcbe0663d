#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "cli/colour.h"
#include "cli/command.h"
#include "cli/judge/question.h"
#include "cli/judge_step/passes.h"

const struct hc_command hc_command_judge_step;

static void judge_all(struct hc_step_session *session)
{
    static void (*const stages[])(struct hc_step_session * session) = {
        hc_step_judge_forward, hc_step_judge_backward, hc_step_judge_unscale,
        hc_step_judge_update,  hc_step_judge_scale,    hc_step_explain};
    for (size_t i = 0; i < sizeof stages / sizeof stages[0] && session->step->status == HC_OK; i++)
        stages[i](session);
}

/* The accumulator that `text` states, or else the file. */
static enum hc_status state_accumulator(struct hc_step_session *session, const char *text)
{
    if (!text)
        text = hc_tensor_file_metadata(&session->step->file, "accumulator");
    if (!text || strcmp(text, "half") != 0)
        return hc_accumulator_read(text, NULL, &session->accumulator);
    session->accumulator =
        (struct hc_accumulator){.precision = hc_formats[HC_FP16].precision, .block = 1};
    return HC_OK;
}

static int judge_step_file(struct hc_step *step, const char *path, const char *accumulator,
                           bool all, bool every, const char *json)
{
    struct hc_step_session session;
    int status = HC_WRONG;
    enum hc_status opened = hc_step_open(step, path);
    if (opened != HC_OK)
        return hc_complain("judge-step: %s", hc_message());
    if (hc_step_session_open(&session, step) != HC_OK ||
        state_accumulator(&session, accumulator) != HC_OK) {
        status = hc_complain_message();
    } else {
        session.every = every;
        session.progress = hc_terminal_draws(stderr) ? hc_step_show_progress : NULL;
        judge_all(&session);
        hc_step_end_progress();
        if (step->status != HC_OK)
            status = hc_complain("judge-step: %s: %s", path, step->message);
        else
            status = hc_step_print(&session, path, all, json);
    }
    hc_step_session_close(&session);
    return status;
}

static int run_judge_step(int argc, char **argv)
{
    bool all = false;
    bool every = false;
    const char *json = NULL;
    const char *accumulator = NULL;
    const struct hc_option options[] = {
        {.name = "accumulator",
         .value = "A",
         .text = &accumulator,
         .help = "how sums of products are taken: fp32 (default), half, or\n"
                 "PRECISION,BLOCK[,EXTRA[,cut]], as judge takes it; the file's metadata may say\n"
                 "\"accumulator\", too"},
        {.name = "all", .flag = &all, .help = "print a line for each claim, not for each layer"},
        {.name = "every",
         .flag = &every,
         .help = "compare every element with MPFR, not a sample (minutes)"},
        {.name = "json", .value = "FILE", .text = &json, .help = "write all verdicts to FILE"},
        {0},
    };
    int words;
    int status;
    struct hc_step step;
    if (!hc_read_options(&hc_command_judge_step, options, argc, argv, &words, &status))
        return status;
    if (words != 1)
        return hc_complain("judge-step takes one step file; see: halfcheck judge-step --help");
    status = judge_step_file(&step, argv[1], accumulator, all, every, json);
    hc_step_close(&step);
    return status;
}

const struct hc_command hc_command_judge_step = {
    .name = "judge-step",
    .usage = "FILE [options]",
    .summary = "judge a training step that PyTorch or halfcheck saved, layer by layer",
    .text = "FILE is a step file (docs/step-files.md), as halfcheck train --dump writes it, or as\n"
            "halfcheck.torch.dump_step does around a step of a PyTorch program.\n\n"
            "judge-step judges each layer by itself, forward and backward: it compares the\n"
            "layer's outputs with what MPFR computes from its inputs, under the bound of the\n"
            "layer's format. Then come unscaling, clipping, the optimizer's update, the model's\n"
            "copies and the next scale. The last lines say where the step first went wrong. If\n"
            "a single change of what the file says explains every number of the unscaling, the\n"
            "update or the copies, they name it. If the network is unknown, only the\n"
            "optimizer's step is judged.\n\n"
            "For a large tensor, MPFR judges a sample: random elements of equal stretches, both\n"
            "ends, and those that lie furthest from what fp64 arithmetic gives for the whole\n"
            "tensor.",
    .run = run_judge_step,
};

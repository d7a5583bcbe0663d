#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/calc/calc.h"
#include "cli/calc/input.h"
#include "cli/calc/number.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "cli/stop.h"
#include "op/output.h"

const struct hc_command hc_command_calc;

/* Where results go. */
struct outputs {
    FILE *out;
    const char *json;
    const char *plot;
    const char *export;
};

static int probe(struct hc_calc *calc, struct outputs *outputs)
{
    bool json = outputs->json && strcmp(outputs->json, "-") == 0;
    outputs->out = json ? stderr : stdout;
    calc->curves = outputs->plot != NULL;
    if (outputs->plot && !calc->loop)
        return hc_complain("calc: --plot needs --each: it draws numbers over the steps");
    if (outputs->json && outputs->plot && hc_output_same(outputs->json, outputs->plot))
        return hc_complain("calc: --json and --plot name the same file: %s", outputs->plot);
    if (outputs->json && hc_output_probe(outputs->json) != HC_OK)
        return hc_complain_message();
    if (outputs->plot && hc_calc_draw_probe(outputs->plot) != HC_OK)
        return hc_complain_message();
    const char *const others[] = {outputs->json ? outputs->json : outputs->plot,
                                  outputs->json ? outputs->plot : NULL, NULL};
    if (outputs->export && hc_calc_export_probe(outputs->export, others) != HC_OK)
        return hc_complain_message();
    return HC_AS_CLAIMED;
}

static enum hc_status write_json(const struct hc_calc_run *run, const char *path)
{
    json_t *document = hc_calc_document(run);
    enum hc_status status = hc_json_write(path, document);
    json_decref(document);
    return status;
}

static enum hc_status write_files(const struct hc_calc_run *run, const struct outputs *outputs)
{
    enum hc_status status = HC_OK;
    if (outputs->plot)
        status = hc_calc_draw(run, outputs->plot);
    if (status == HC_OK && outputs->json)
        status = write_json(run, outputs->json);
    if (status == HC_OK && outputs->export)
        status = hc_calc_export(run, outputs->export);
    return status == HC_OK ? hc_json_status() : status;
}

/* Prints and writes what there is, also of a run that was stopped. */
static int conclude_calc(const struct hc_calc_run *run, const struct outputs *outputs)
{
    bool right = true;
    if (run->last.step >= 0) {
        if (hc_calc_print_table(run, outputs->out) != HC_OK)
            return hc_complain_message();
        (void)fputc('\n', outputs->out);
        right = hc_calc_print_findings(run, outputs->out);
        if (write_files(run, outputs) != HC_OK)
            return hc_complain_message();
    }
    if (run->stopped_by)
        (void)hc_complain("stopped by signal %d after step %lld of %lld", run->stopped_by,
                          (long long)(run->last.step > 0 ? run->last.step : 0),
                          (long long)run->calc->steps);
    if (!right)
        return HC_CLAIM_FAILED;
    return run->stopped_by ? HC_WRONG : HC_AS_CLAIMED;
}

static int calculate(struct hc_calc *calc, struct outputs *outputs,
                     const struct hc_backend_options *backends)
{
    struct hc_calc_run run = {.calc = calc};
    int status = probe(calc, outputs);
    if (status != HC_AS_CLAIMED)
        return status;
    if (backends->named.count &&
        (hc_choose_backend("calc computes", backends, "exact", &calc->backend) != HC_OK ||
         hc_backend_open(calc->backend, &calc->queue, 0) != HC_OK))
        return hc_complain_message();
    hc_stop_on_request();
    status = hc_calc_run(&run, calc);
    if (status == HC_AS_CLAIMED)
        status = conclude_calc(&run, outputs);
    hc_calc_free(&run);
    if (calc->backend)
        calc->backend->close(calc->queue);
    return status;
}

/* What is computed, in which formats, and which numbers are shown. */
static int add_formula_options(struct hc_calc *calc, struct hc_calc_typed *typed,
                               struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.name = "each",
         .value = "FORMULA",
         .text = &typed->each,
         .help = "what every step does; `step` is the number of the step"},
        {.name = "steps",
         .value = "N",
         .text = &typed->steps,
         .help = "steps of --each, up to 1e12 (default 100)"},
        {.name = "in",
         .value = "ARM,...",
         .list = &typed->in,
         .help = "FORMAT, FORMAT/STORAGE, or one of these and NAME=FORMAT for the formula's casts\n"
                 "(default fp16,bf16,fp32)"},
        {.name = "show",
         .value = "EXPR,...",
         .text = &typed->show,
         .help = "expressions to show (default: what --each assigns, or else all names)"},
        {.name = "every",
         .value = "N",
         .text = &typed->every,
         .help = "show every Nth step (default: about twenty steps, those that show most)"},
        {.name = "hex", .flag = &calc->hex, .help = "also print the bits of each number"},
        {.name = "digits",
         .value = "N",
         .count = &calc->digits,
         .least = 1,
         .most = HC_MAX_DIGITS,
         .help = "significant digits (default: as many as tell numbers apart)"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

/* Files, and a backend that computes, too. */
static int add_output_options(struct hc_calc_typed *typed, struct outputs *outputs,
                              struct hc_backend_options *backends, struct hc_option *options)
{
    const struct hc_option rows[] = {
        {.include =
             hc_backend_options(backends, HC_ONE_BACKEND,
                                "compute on this backend, too, and compare each operation's bits")},
        {.name = "plot",
         .value = "FILE",
         .text = &outputs->plot,
         .help = "draw the numbers over the steps: FILE.png or FILE.svg"},
        {.name = "json",
         .value = "FILE",
         .text = &outputs->json,
         .help = "write all that is printed, with bits; with -, it goes to standard output and\n"
                 "the table to standard error"},
        {.name = "export",
         .value = "FILE,...",
         .list = &outputs->export,
         .help = "write the numbers as tensors, FILE.npz or FILE.safetensors, or as the cases of\n"
                 "a test of pytest, FILE.py"},
        {.name = "file",
         .value = "FILE",
         .text = &typed->file,
         .help = "read FORMULA from a file, or with - from standard input"},
    };
    memcpy(options, rows, sizeof rows);
    return sizeof rows / sizeof *rows;
}

static int run_calc(int argc, char **argv)
{
    struct hc_calc calc = {0};
    struct hc_calc_typed typed = {0};
    struct outputs outputs = {0};
    struct hc_backend_options backends;
    struct hc_option options[HC_MAX_OPTIONS + 1] = {0};
    int n = add_formula_options(&calc, &typed, options);
    (void)add_output_options(&typed, &outputs, &backends, options + n);
    int words;
    int status;
    if (!hc_read_options(&hc_command_calc, options, argc, argv, &words, &status))
        return status;
    char *formula = hc_calc_formula(&typed, argv + 1, words);
    if (!formula)
        return HC_WRONG;
    status = hc_calc_read(&calc, &typed, formula);
    if (status == HC_AS_CLAIMED)
        status = calculate(&calc, &outputs, &backends);
    hc_program_free(calc.program);
    free(formula);
    return status;
}

const struct hc_command hc_command_calc = {
    .name = "calc",
    .usage = "FORMULA [--each FORMULA] [--steps N] [--in ARM,...] [options]",
    .summary = "compute a few numbers in a loop, in several formats and exactly",
    .text =
        "Evaluates formulas with every operation rounded to a format, and as real numbers:\n\n"
        "  halfcheck calc 'bf16(1/3)' '1 + 1e-4'\n"
        "  halfcheck calc 'w = 1' --each 'w -= 1e-4' --steps 1000\n"
        "  halfcheck calc 'v = 1e-6; g = 1e-4' --each 'v = 0.999*v + 0.001*g*g' \\\n"
        "      --steps 2000 --in bf16,fp32/bf16,fp32\n"
        "  halfcheck calc 'fake_quantize(mx-floor, e4m3, [957, 1])' --in fp32\n"
        "  halfcheck calc 'x = [100, 101, 102]' 'mean(x**2) - mean(x)**2' 'np.rsqrt(x)'\n\n"
        "A literal takes the format of the value that it meets. fp32/bf16 computes in fp32 and\n"
        "rounds what is assigned to bf16, as op math does on devices. Several FORMULAs are\n"
        "lines of one formula; - reads it from standard input. Python's spelling works: x**2,\n"
        "a if c else b, torch.softmax(x), 1_000. docs/formulas.md describes the language.\n\n"
        "Numbers are printed with as many digits as tell them from their neighbours, the real\n"
        "ones with eight or more. Sentences below the table say at which step a number parts\n"
        "from the real one (it is no longer the nearest of its format), from which step it\n"
        "stands still, why (a lost update, cancellation, saturation, a division by 0), how far\n"
        "it is off in the end, and a bound of this error that calc computes step by step.\n\n"
        "Ctrl-C ends a long loop with the table up to there, and status 2.",
    .run = run_calc,
};

/* halfcheck define: what a definition says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "define/gradient/adjoint.h"
#include "define/draw.h"
#include "define/fpcore.h"
#include "define/library.h"

const struct hc_command hc_command_define;

static int list_library(void)
{
    for (const struct hc_library_text *row = hc_library; row->name; row++)
        printf("%s\n", row->name);
    return HC_AS_CLAIMED;
}

static int print_gradient(const struct hc_definition *definition)
{
    char *text;
    if (hc_adjoint_text(definition, &text) != HC_OK)
        return hc_complain_message();
    (void)fputs(text, stdout);
    free(text);
    return HC_AS_CLAIMED;
}

static void print_core(void *context, const char *name, const char *text, const char *why)
{
    (void)context;
    if (text)
        printf("%s\n", text);
    else
        printf("# %s has no definition: %s\n\n", name, why);
}

static int print_cores(const char *path)
{
    char *text = hc_define_read_file(path);
    if (!text)
        return HC_WRONG;
    enum hc_status status =
        strlen(text) > HC_LONGEST_DEFINITION
            ? hc_fail(HC_INVALID, "a text has at most %d characters", HC_LONGEST_DEFINITION)
            : hc_fpcore_read(text, print_core, NULL);
    free(text);
    if (status == HC_OK)
        return HC_AS_CLAIMED;
    return hc_complain("%s: %s", path, hc_message());
}

static int print_backward(const struct hc_definition *definition)
{
    if (!definition->backward)
        return hc_complain("%s states no gradient of its own; --grad derives one",
                           definition->name);
    (void)fputs(definition->backward, stdout);
    return HC_AS_CLAIMED;
}

static int print_definition(const struct hc_definition *definition, const struct hc_words *allow)
{
    struct hc_freedoms freedoms = hc_usual_freedoms;
    if (hc_define_allow(allow, &freedoms) != HC_OK)
        return hc_complain_message();
    hc_define_print(definition, &freedoms);
    return HC_AS_CLAIMED;
}

static const char usual_format[] = "bf16"; /* of drawn inputs */

/* What the command line says, with the tables of its options. */
struct orders {
    bool grad;
    bool backward;
    bool json;
    const char *cores;
    struct hc_define_question question;
    struct hc_option of_question[5];
    struct hc_define_drawing drawing;
    struct hc_option of_drawing[7];
    const char *families[HC_FAMILIES + 1];
    const char *sizes[HC_SIZE_ROWS + 1];
};

/* Prints the definition, its gradient or its JSON, or draws inputs for it. */
static int show(const struct orders *orders)
{
    const struct hc_define_drawing *drawing = &orders->drawing;
    struct hc_definition *definition =
        hc_define_open(orders->question.source, orders->question.variant);
    int status = HC_AS_CLAIMED;
    if (!definition)
        return HC_WRONG;
    if (orders->grad)
        status = print_gradient(definition);
    else if (orders->backward)
        status = print_backward(definition);
    else if ((drawing->path && hc_define_draw(definition, drawing) != HC_OK) ||
             (orders->json && hc_define_print_json(definition) != HC_OK))
        status = hc_complain_message();
    else if (!drawing->path && !orders->json)
        status = print_definition(definition, &orders->question.allow);
    hc_definition_free(definition);
    return status;
}

/* The options of real values. */
static const struct hc_option *options_of_question(struct orders *orders)
{
    struct hc_define_question *q = &orders->question;
    const struct hc_option rows[] = {
        {.name = "values",
         .value = "FILE",
         .text = &q->values,
         .help = "write the real values of the results and their radii as JSON; - is standard\n"
                 "output"},
        {.name = "tensors",
         .value = "FILE",
         .text = &q->tensors,
         .help = "safetensors of the inputs, by their names, for --values"},
        {.name = "set",
         .value = "NAME=VALUE",
         .words = &q->set,
         .help = "an option of the definition, for --values"},
        {.name = "allow",
         .value = "WORD",
         .words = &q->allow,
         .help = "state a property of the implementation, such as order=blocks(16) (`halfcheck\n"
                 "explain def/NAME` lists such words); may be repeated"},
        {0},
    };
    return memcpy(orders->of_question, rows, sizeof rows);
}

/* The options of inputs that are drawn. */
static const struct hc_option *options_of_drawing(struct orders *orders)
{
    struct hc_define_drawing *d = &orders->drawing;
    memcpy(orders->families, hc_family_names, sizeof hc_family_names);
    memcpy(orders->sizes, hc_size_row_names, sizeof hc_size_row_names);
    const struct hc_option rows[] = {
        {.name = "draw",
         .value = "FILE",
         .text = &d->path,
         .help = "write inputs for the definition as safetensors"},
        {.name = "format",
         .value = "FORMAT",
         .text = &d->format,
         .help = "--draw: the format of the inputs (default bf16)"},
        {.name = "family",
         .value = "FAMILY",
         .choice = &d->family,
         .choices = orders->families,
         .help = "--draw: the kind of numbers: normal (default), lognormal, boundaries,\n"
                 "subnormals, specials, cancelling, stagnating, constant, one-hot, whole,\n"
                 "offset, mixed, far, scaled, settled (the results are the same bits in every\n"
                 "right order) or asked (inputs at critical places of the definition, which are\n"
                 "searched with its derivatives). What the last two found is printed"},
        {.name = "sizes",
         .value = "ROW",
         .choice = &d->row,
         .choices = orders->sizes,
         .help = "--draw: the lengths of the axes, in turn: usual (default), ones, odd, long or\n"
                 "tiles; lengths that do not suit the text are replaced"},
        {.name = "size",
         .value = "AXIS=N",
         .words = &d->sizes,
         .help = "--draw: the length of one axis"},
        {.name = "seed",
         .value = "N",
         .seed = &d->seed,
         .help = "--draw: seed of the inputs (default 0)"},
        {0},
    };
    _Static_assert(sizeof rows == sizeof orders->of_drawing, "it holds them");
    return memcpy(orders->of_drawing, rows, sizeof rows);
}

/* Does what the definition is wanted for, which is one thing. Options of another one would do
   nothing. */
static int define(const struct orders *orders)
{
    const struct hc_define_question *q = &orders->question;
    const struct hc_define_drawing *d = &orders->drawing;
    bool drawn = d->format != usual_format || d->family || d->row || d->sizes.count || d->seed;
    int wants =
        orders->grad + orders->backward + orders->json + (q->values != NULL) + (d->path != NULL);
    if (wants > 1)
        return hc_complain("define takes one of --grad, --backward, --json, --values and --draw");
    if (!q->values && (q->tensors || q->set.count))
        return hc_complain("define: --tensors and --set are for --values");
    if (q->allow.count && (!q->source || (wants && !q->values)))
        return hc_complain("define: --allow is for --values, and for what a definition allows");
    if (!d->path && drawn)
        return hc_complain("define: --format, --family, --sizes, --size and --seed are for --draw");
    if (q->source)
        return q->values ? hc_define_judge_files(q) : show(orders);
    if (wants || q->variant)
        return hc_complain("define: that needs the FILE or NAME of a definition");
    return list_library();
}

static int run_define(int argc, char **argv)
{
    struct orders orders = {.drawing.format = usual_format};
    const struct hc_option options[] = {
        {.name = "grad",
         .flag = &orders.grad,
         .help = "print the derived gradient, as a definition"},
        {.name = "backward",
         .flag = &orders.backward,
         .help = "print the gradient that the text itself states, as a definition"},
        {.name = "variant",
         .value = "NAME",
         .text = &orders.question.variant,
         .help = "use the equations of this variant"},
        {.name = "json", .flag = &orders.json, .help = "print what the definition says as JSON"},
        {.name = "fpcore",
         .value = "FILE",
         .text = &orders.cores,
         .help = "print the scalar expressions of FPBench in FILE as definitions"},
        {.include = options_of_question(&orders)},
        {.include = options_of_drawing(&orders)},
        {0},
    };
    int count;
    int status;
    if (!hc_read_options(&hc_command_define, options, argc, argv, &count, &status))
        return status;
    if (orders.cores)
        return hc_option_alone("fpcore") ? print_cores(orders.cores)
                                         : hc_complain("define --fpcore FILE takes nothing else");
    if (count > 1)
        return hc_complain("define takes one FILE, or the NAME of a definition of the library");
    orders.question.source = argv[1];
    return define(&orders);
}

const struct hc_command hc_command_define = {
    .name = "define",
    .usage = "[FILE|NAME]",
    .summary = "show what the definition of an op says and allows",
    .text =
        "A definition is an op as a text of a few lines, with named axes; docs/definitions.md\n"
        "describes the language. FILE has such a text, and NAME is one of the library's, whose\n"
        "names are printed if neither is given. `halfcheck judge --define FILE` judges results\n"
        "by a definition.",
    .run = run_define,
};

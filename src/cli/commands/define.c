/* halfcheck define: what a definition says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "define/adjoint.h"
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
        return hc_complain("%s writes no backward; --grad derives one", definition->name);
    (void)fputs(definition->backward, stdout);
    return HC_AS_CLAIMED;
}

/* Prints the definition, its gradient or its JSON, or draws inputs for it. */
static int show(const char *source, const char *variant, const struct hc_define_drawing *drawing,
                bool grad, bool backward, bool json)
{
    struct hc_definition *definition = hc_define_open(source, variant);
    int status = HC_AS_CLAIMED;
    if (!definition)
        return HC_WRONG;
    if (grad)
        status = print_gradient(definition);
    else if (backward)
        status = print_backward(definition);
    else if ((drawing->path && hc_define_draw(definition, drawing) != HC_OK) ||
             (json && hc_define_print_json(definition) != HC_OK))
        status = hc_complain_message();
    else if (!drawing->path && !json)
        hc_define_print(definition);
    hc_definition_free(definition);
    return status;
}

static int run_define(int argc, char **argv)
{
    struct hc_define_question question = {.source = NULL};
    struct hc_define_drawing drawing = {.format = "bf16"};
    bool grad = false;
    bool backward = false;
    bool json = false;
    const char *cores = NULL;
    const char *families[HC_FAMILIES + 1] = {NULL};
    for (int i = 0; i < HC_FAMILIES; i++)
        families[i] = hc_family_names[i];
    const char *sizes[HC_SIZE_ROWS + 1] = {NULL};
    for (int i = 0; i < HC_SIZE_ROWS; i++)
        sizes[i] = hc_size_row_names[i];
    const struct hc_option options[] = {
        {.name = "grad", .flag = &grad, .help = "print the gradient, which is a definition, too"},
        {.name = "backward",
         .flag = &backward,
         .help = "print the backward that the definition writes, which is one, too"},
        {.name = "variant",
         .value = "NAME",
         .text = &question.variant,
         .help = "with the equations of this variant"},
        {.name = "json", .flag = &json, .help = "print what the definition says as JSON"},
        {.name = "fpcore",
         .value = "FILE",
         .text = &cores,
         .help = "print the scalar expressions of FPBench in FILE as definitions"},
        {.name = "values",
         .value = "FILE",
         .text = &question.values,
         .help = "write the real values of the results and their radii as JSON; - is standard\n"
                 "output"},
        {.name = "tensors",
         .value = "FILE",
         .text = &question.tensors,
         .help = "safetensors of the inputs, by their names, for --values"},
        {.name = "set",
         .value = "NAME=VALUE",
         .words = &question.set,
         .help = "an option of the definition, for --values"},
        {.name = "draw",
         .value = "FILE",
         .text = &drawing.path,
         .help = "write inputs for the definition as safetensors"},
        {.name = "format",
         .value = "FORMAT",
         .text = &drawing.format,
         .help = "of these inputs (bf16)"},
        {.name = "family",
         .value = "FAMILY",
         .choice = &drawing.family,
         .choices = families,
         .help = "of these inputs: normal (default), lognormal, boundaries, subnormals, specials,\n"
                 "cancelling, stagnating, constant, one-hot, whole, offset, mixed or scaled"},
        {.name = "sizes",
         .value = "ROW",
         .choice = &drawing.row,
         .choices = sizes,
         .help =
             "how long the axes of these inputs are, in turn: usual (default), ones, odd, long\n"
             "or tiles; others that suit the text where these do not"},
        {.name = "size",
         .value = "AXIS=N",
         .words = &drawing.sizes,
         .help = "how long one axis of these inputs is"},
        {.name = "seed", .value = "N", .seed = &drawing.seed, .help = "of these inputs (0)"},
        {0},
    };
    int count;
    int status;
    if (!hc_read_options(&hc_command_define, options, argc, argv, &count, &status))
        return status;
    if (cores && (count || grad || json || question.values || drawing.path))
        return hc_complain("define --fpcore FILE takes nothing else");
    if (cores)
        return print_cores(cores);
    if (count == 0)
        return list_library();
    if (count != 1)
        return hc_complain("define takes one FILE, or the NAME of a definition of the library");
    if ((grad ? 1 : 0) + (backward ? 1 : 0) + (json ? 1 : 0) + (question.values ? 1 : 0) +
            (drawing.path ? 1 : 0) >
        1)
        return hc_complain("define takes one of --grad, --backward, --json, --values and --draw");
    question.source = argv[1];
    if (question.values)
        return hc_define_judge_files(&question);
    return show(argv[1], question.variant, &drawing, grad, backward, json);
}

const struct hc_command hc_command_define = {
    .name = "define",
    .usage = "[FILE|NAME]",
    .summary = "say what the definition of an op says and allows",
    .text =
        "A definition is an op as a text of a few lines, with named axes; docs/definitions.md\n"
        "describes the language. FILE has such a text, and NAME is one of the library's, whose\n"
        "names are printed if neither is given. `halfcheck judge --define FILE` judges results\n"
        "by it.",
    .run = run_define,
};

/* halfcheck define: what a definition says. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/define/define.h"
#include "define/adjoint.h"
#include "define/library.h"

const struct hc_command hc_command_define;

static int run_define(int argc, char **argv)
{
    struct hc_define_question question = {.source = NULL};
    bool grad = false;
    const struct hc_option options[] = {
        {.name = "grad", .flag = &grad, .help = "print the gradient, which is a definition, too"},
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
        {0},
    };
    int count;
    int status;
    if (!hc_read_options(&hc_command_define, options, argc, argv, &count, &status))
        return status;
    if (count == 0) {
        for (const struct hc_library_text *row = hc_library; row->name; row++)
            printf("%s\n", row->name);
        return HC_AS_CLAIMED;
    }
    if (count != 1)
        return hc_complain("define takes one FILE, or the NAME of a definition of the library");
    question.source = argv[1];
    if (question.values)
        return hc_define_judge_files(&question);
    struct hc_definition *definition = hc_define_open(argv[1]);
    if (!definition)
        return HC_WRONG;
    char *gradient = NULL;
    enum hc_status made = grad ? hc_adjoint_text(definition, &gradient) : HC_OK;
    if (gradient)
        (void)fputs(gradient, stdout);
    else if (!grad)
        hc_define_print(definition);
    free(gradient);
    hc_definition_free(definition);
    return made == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

const struct hc_command hc_command_define = {
    .name = "define",
    .usage = "[FILE|NAME]",
    .summary = "what the definition of an op says, and what it lets an implementation do",
    .text =
        "A definition is an op as a text of a few lines, with named axes; docs/definitions.md\n"
        "describes the language. FILE has such a text, and NAME is one of the library's, whose\n"
        "names are printed if neither is given. `halfcheck judge --define FILE` judges results\n"
        "by it.",
    .run = run_define,
};

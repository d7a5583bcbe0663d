#include "cli/help.h"

#include <stddef.h>
#include <string.h>

#include "op/wrap.h"

const char hc_help_of_halfcheck[] =
    "checks whether mixed-precision training is numerically right here";
const char hc_help_in_short[] =
    "halfcheck checks the numerical components of mixed-precision training (fp16, bf16) against\n"
    "exact mathematics, on every backend that can run on this machine: its own kernels, programs\n"
    "behind a pipe, and plug-ins. Each result is compared with a correctly rounded reference,\n"
    "within a bound that is derived from the operation.\n\n"
    "halfcheck run checks everything. halfcheck explain shows one case with its numbers.\n"
    "halfcheck gate compares a record with an earlier one, and halfcheck report makes a page of\n"
    "it.";
const char hc_help_of_help[] = "print this help";
const char hc_help_of_status[] = "0 if everything is as claimed, 1 if a claim failed, 2 if the\n"
                                 "command or the environment is wrong";

const char *hc_help_of_lists(const struct hc_option *options)
{
    for (const struct hc_option *o = options; o->name; o++)
        if (o->list || o->words)
            return "An option that takes a list (A,B) may be repeated, and adds to the list.\n"
                   "Any other may be given once.";
    return NULL;
}

enum { COLUMN = 24 };

static void print_option(FILE *out, const struct hc_option *option)
{
    char left[64];
    (void)snprintf(left, sizeof left, "  --%s%s%s", option->name, option->value ? " " : "",
                   option->value ? option->value : "");
    (void)fprintf(out, "%-*s", COLUMN, left);
    if (strlen(left) >= COLUMN)
        (void)fprintf(out, "\n%*s", COLUMN, "");
    hc_print_wrapped(out, COLUMN, COLUMN, option->help);
}

void hc_help_print(FILE *out, const struct hc_command *command, const struct hc_option *options)
{
    const struct hc_option help = {.name = "help", .help = hc_help_of_help};
    int column = fprintf(out, "halfcheck %s - ", command->name);
    hc_print_wrapped(out, column, 4, command->summary);
    column = fprintf(out, "\nusage: halfcheck %s ", command->name);
    hc_print_wrapped(out, column, 4, command->usage);
    (void)fputc('\n', out);
    hc_print_wrapped(out, 0, 0, command->text ? command->text : "");
    (void)fputs("\noptions:\n", out);
    for (const struct hc_option *o = options; o->name; o++)
        print_option(out, o);
    print_option(out, &help);
    const char *lists = hc_help_of_lists(options);
    if (lists)
        (void)fprintf(out, "\n%s\n", lists);
    (void)fprintf(out, "\nexit status: %s\n", hc_help_of_status);
}

static hc_options_reader *reader;
static void *reader_context;

void hc_help_options(const struct hc_command *command, hc_options_reader *tell, void *context)
{
    char name[32];
    char *words[] = {name, NULL};
    (void)snprintf(name, sizeof name, "%s", command->name);
    reader = tell;
    reader_context = context;
    (void)command->run(1, words);
    reader = NULL;
}

bool hc_help_wants_options(const struct hc_command *command, const struct hc_option *options)
{
    if (!reader)
        return false;
    reader(reader_context, command, options);
    return true;
}

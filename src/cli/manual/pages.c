#include "cli/manual/manual.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "check/record/environment.h"
#include "cli/command.h"
#include "cli/manual/roff.h"

struct page {
    const struct hc_command *command; /* NULL: the page of the whole program */
    const struct hc_option *options;
    const char *folder;
    const char *date;
    enum hc_status status;
};

static void title(FILE *out, const struct page *page)
{
    const char *name = page->command ? page->command->name : "";
    (void)fprintf(out, ".TH HALFCHECK%s", page->command ? "\\-" : "");
    for (; *name; name++)
        (void)fprintf(out, *name == '-' ? "\\-" : "%c", toupper((unsigned char)*name));
    (void)fprintf(out, " 1 %s \"%s\" \"halfcheck\"\n", page->date, hc_release());
}

static void section(FILE *out, const char *name)
{
    (void)fprintf(out, ".SH %s\n", name);
}

static void print_option(FILE *out, const struct hc_option *option)
{
    (void)fputs(".TP\n\\fB\\-\\-", out);
    hc_roff_line(out, option->name);
    (void)fputs(option->value ? "\\fR " : "\\fR\n", out);
    if (option->value) {
        hc_roff_usage(out, option->value);
        (void)fputc('\n', out);
    }
    hc_roff_text(out, option->help);
}

static void print_options(FILE *out, const struct hc_option *options)
{
    const struct hc_option help = {.name = "help", .help = hc_help_of_help};
    section(out, "OPTIONS");
    for (const struct hc_option *o = options; o->name; o++)
        print_option(out, o);
    print_option(out, &help);
    const char *lists = hc_help_of_lists(options);
    if (lists) {
        (void)fputs(".PP\n", out);
        hc_roff_text(out, lists);
    }
}

static void print_status(FILE *out)
{
    section(out, "EXIT STATUS");
    hc_roff_text(out, hc_help_of_status);
}

static void print_command(FILE *out, const struct page *page)
{
    const struct hc_command *command = page->command;
    title(out, page);
    section(out, "NAME");
    char name[64];
    (void)snprintf(name, sizeof name, "halfcheck-%s", command->name);
    hc_roff_name(out, name, command->summary);
    section(out, "SYNOPSIS");
    (void)fputs(".B halfcheck ", out);
    hc_roff_line(out, command->name);
    (void)fputc('\n', out);
    hc_roff_usage(out, command->usage);
    (void)fputc('\n', out);
    section(out, "DESCRIPTION");
    hc_roff_text(out, command->text ? command->text : command->summary);
    print_options(out, page->options);
    print_status(out);
    section(out, "SEE ALSO");
    (void)fputs(".BR halfcheck (1)\n", out);
}

static void print_commands(FILE *out)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    section(out, "COMMANDS");
    for (int i = 0; i < n; i++)
        if (!commands[i]->hidden) {
            (void)fputs(".TP\n.BR halfcheck\\-", out);
            hc_roff_line(out, commands[i]->name);
            (void)fputs(" (1)\n", out);
            hc_roff_text(out, commands[i]->summary);
        }
}

/* What commands share: a name and what is said of it. */
struct term {
    const char *name;
    const char *text;
};

static void print_terms(FILE *out, const char *name, const struct term *terms)
{
    section(out, name);
    for (; terms->name; terms++) {
        (void)fputs(".TP\n.B ", out);
        hc_roff_line(out, terms->name);
        (void)fputc('\n', out);
        hc_roff_text(out, terms->text);
    }
}

static const struct term options_of_all[] = {
    {"--help", "print the commands; after a command, or as halfcheck help COMMAND: its help"},
    {"--version", "print the version, the commit and the versions of the libraries"},
    {0},
};

static const struct term variables[] = {
    {"HALFCHECK_CUDA_PLUGIN",
     "the file of the backend cuda (default: halfcheck-cuda.so in ../lib/halfcheck or beside the "
     "program); with none, there is no such backend"},
    {"CUDA_HOME", "where the CUDA libraries are, if they are in none of the usual folders"},
    {"OMP_WAIT_POLICY",
     "how threads wait for work; halfcheck sets it to passive if it is not set, so that other "
     "programs on the machine do not slow it down"},
    {"NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, CLICOLOR, TERM", "whether the output has colour"},
    {0},
};

static const struct term files[] = {
    {"out/record.json", "what a run of all cases measured"},
    {"share/doc/halfcheck", "beside bin, where the program is installed: the licence"},
    {0},
};

static void print_program(FILE *out, const struct page *page)
{
    title(out, page);
    section(out, "NAME");
    hc_roff_name(out, "halfcheck", hc_help_of_halfcheck);
    section(out, "SYNOPSIS");
    (void)fputs(".B halfcheck\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n", out);
    section(out, "DESCRIPTION");
    hc_roff_text(out, hc_help_in_short);
    print_commands(out);
    print_terms(out, "OPTIONS", options_of_all);
    print_terms(out, "ENVIRONMENT", variables);
    print_terms(out, "FILES", files);
    print_status(out);
}

/* These are files of a build: they need not survive a crash (op/output.h). */
static void write_page(struct page *page)
{
    char path[4096];
    const char *name = page->command ? page->command->name : "";
    int length = snprintf(path, sizeof path, "%s/halfcheck%s%s.1", page->folder,
                          page->command ? "-" : "", name);
    FILE *out = length < (int)sizeof path ? fopen(path, "w") : NULL;
    if (out)
        (page->command ? print_command : print_program)(out, page);
    bool good = out && !ferror(out);
    if ((!out || fclose(out) != 0 || !good) && page->status == HC_OK)
        page->status = hc_fail(HC_IO, "cannot write %s: %s", path, strerror(errno));
}

static void write_command(void *context, const struct hc_command *command,
                          const struct hc_option *options)
{
    struct page *page = context;
    page->command = command;
    page->options = options;
    write_page(page);
}

enum hc_status hc_manual_write(const char *folder, const char *date)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    struct page page = {.folder = folder, .date = date};
    write_page(&page);
    for (int i = 0; i < n; i++)
        if (!commands[i]->hidden)
            hc_help_options(commands[i], write_command, &page);
    return page.status;
}

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static void overview(FILE *out)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    (void)fputs("halfcheck - is mixed-precision training numerically right on this machine?\n\n"
                "usage: halfcheck COMMAND [ARGUMENTS]\n\n",
                out);
    for (int i = 0; i < n; i++)
        (void)fprintf(out, "  %-10s%s\n", commands[i]->name, commands[i]->summary);
    (void)fputs("\nhalfcheck COMMAND --help tells more.\n", out);
}

static const struct hc_command *find(const char *name)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        overview(stderr);
        return HC_WRONG;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        overview(stdout);
        return HC_AS_CLAIMED;
    }
    const struct hc_command *command = find(argv[1]);
    if (!command)
        return hc_complain("no command '%s'; see: halfcheck --help", argv[1]);
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    /* A file that grows over the limit is an error like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    int status = run(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        status = hc_complain("cannot write to standard output: %s", strerror(errno));
    return status;
}

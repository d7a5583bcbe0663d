#include "cli/command.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/colour.h"
#include "hc_command_list.h"
#include "op/status.h"
#include "op/text.h"

static const struct hc_command *const all[] = {HC_LIST};

const struct hc_command *const *hc_commands(int *n)
{
    *n = (int)(sizeof all / sizeof all[0]) - 1;
    return all;
}

static const char **command_line;

bool hc_keep_command_line(char **argv)
{
    int words = 0;
    while (argv[words])
        words++;
    command_line = calloc((size_t)words + 2, sizeof *command_line);
    for (int i = 0; command_line && i < words; i++)
        command_line[i] = i ? argv[i] : "halfcheck";
    return command_line != NULL;
}

const char *const *hc_command_line(void)
{
    return command_line;
}

static bool silent;
static char kept[4096];

void hc_complain_silently(void)
{
    silent = true;
}

const char *hc_complaint_kept(void)
{
    return kept;
}

int hc_complain(const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(line, sizeof line, format, arguments);
    va_end(arguments);
    if (silent) {
        if (!kept[0])
            (void)snprintf(kept, sizeof kept, "%s", line);
        return HC_WRONG;
    }
    (void)fflush(stdout);
    hc_colour_print(stderr, hc_terminal_draws(stderr) ? HC_COLOUR_FAIL : HC_PLAIN, "halfcheck:");
    (void)fputc(' ', stderr);
    hc_text_line(stderr, line);
    (void)fputc('\n', stderr);
    return HC_WRONG;
}

int hc_complain_message(void)
{
    return hc_complain("%s", hc_message());
}

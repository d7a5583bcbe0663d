#include <stdbool.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/manual/manual.h"
#include "cli/report/script.h"

const struct hc_command hc_command_manual;

static bool is_date(const char *text)
{
    static const char form[] = "0000-00-00";
    size_t i = 0;
    while (text[i] && (form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i]))
        i++;
    return i == sizeof form - 1 && !text[i];
}

static int write_pages(const char *folder, const char *date)
{
    if (!is_date(date))
        return hc_complain("manual: --date takes YYYY-MM-DD, not '%s'", date);
    return hc_manual_write(folder, date) == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

static int run_manual(int argc, char **argv)
{
    enum { NONE, BASH, ZSH };
    static const char *const shells[] = {"none", "bash", "zsh", NULL};
    const char *folder = NULL;
    const char *date = "1970-01-01";
    int shell = NONE;
    bool complete = false;
    const struct hc_option options[] = {
        {.name = "man",
         .value = "DIR",
         .text = &folder,
         .help = "write the manual pages to this folder"},
        {.name = "date",
         .value = "YYYY-MM-DD",
         .text = &date,
         .help = "the date of the manual pages"},
        {.name = "completion",
         .value = "SHELL",
         .choice = &shell,
         .choices = shells,
         .help = "print the completion for this shell: bash or zsh"},
        {.name = "complete",
         .flag = &complete,
         .help = "print what may stand in place of the last of WORDS"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_manual, options, argc, argv, &words, &status))
        return status;
    if (complete && words > 0)
        hc_complete(words, argv + 1);
    else if (shell != NONE)
        (void)fputs(hc_script(shell == BASH ? "completion.bash" : "completion.zsh"), stdout);
    else if (folder)
        return write_pages(folder, date);
    else
        return hc_complain("manual needs --man DIR, --completion SHELL, or --complete -- WORDS");
    return HC_AS_CLAIMED;
}

const struct hc_command hc_command_manual = {
    .name = "manual",
    .usage = "[--man DIR] [--completion SHELL] [--complete -- WORDS]",
    .summary = "write the manual pages and the completion of shells",
    .hidden = true,
    .text =
        "What is installed beside the program is made by this command, from the same tables as\n"
        "the help of the commands. To complete in this shell without an installation:\n\n"
        "  . <(halfcheck manual --completion bash)\n"
        "  source <(halfcheck manual --completion zsh)",
    .run = run_manual,
};

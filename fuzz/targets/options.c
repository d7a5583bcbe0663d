/* A command line: words between newlines, against one option of each kind but lists, whose memory
   lives as long as the process. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "fuzz.h"

enum { WORDS = 24 };

static int take(const char *value)
{
    return value[0] == '!' ? hc_complain("no '%s'", value) : HC_AS_CLAIMED;
}

static const char *const choices[] = {"quick", "standard", NULL};

static void read_line(int argc, char **argv)
{
    bool flag = false;
    const char *text = NULL;
    struct hc_words names = {0};
    uint64_t seed = 0;
    int count = 1;
    int choice = 0;
    double real = 0;
    int words;
    int status;
    const struct hc_command command = {.name = "fuzz", .usage = "", .summary = "fuzz"};
    const struct hc_option table[] = {
        {.name = "flag", .help = "", .flag = &flag},
        {.name = "text", .value = "T", .help = "", .text = &text},
        {.name = "words", .value = "W", .help = "", .words = &names},
        {.name = "take", .value = "T", .help = "", .take = take},
        {.name = "seed", .value = "N", .help = "", .seed = &seed},
        {.name = "count", .value = "N", .help = "", .count = &count, .least = 1, .most = 16},
        {.name = "real", .value = "X", .help = "", .real = &real, .least = -1, .most = 1e6},
        {.name = "level", .value = "L", .help = "", .choice = &choice, .choices = choices},
        {0}};
    (void)hc_read_options(&command, table, argc, argv, &words, &status);
}

static void fuzz_options(const uint8_t *data, size_t size)
{
    char name[] = "fuzz";
    char *argv[WORDS + 2] = {name};
    int argc = 1;
    char *text = hc_fuzz_string(data, size);
    for (char *at = text; at && argc <= WORDS; argc++) {
        argv[argc] = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = '\0';
    }
    read_line(argc, argv);
    free(text);
}

const struct hc_fuzz_target hc_fuzz_options = {"options", fuzz_options};

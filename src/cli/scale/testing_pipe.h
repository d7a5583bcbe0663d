/* What the tests of the pipe share: halfcheck gen scale/RULE | scales.py | halfcheck verify. */
#ifndef HC_CLI_SCALE_TESTING_PIPE_H
#define HC_CLI_SCALE_TESTING_PIPE_H

#include "cli/testing.h"

#define SCALES "python3 '" HC_SOURCE "/cases/scale/scales.py' "

static inline void with_python(void)
{
    enter_folder();
    if (run_shell("command -v python3")->status != 0)
        cr_skip_test("no python3");
}

/* The rule's trace, answered by scales.py's rule with that mistake. */
static inline const struct ran *judge(const char *rule, const char *options, const char *answers)
{
    char line[512];
    (void)snprintf(line, sizeof line, "$hc gen scale/%s %s | " SCALES "%s | $hc verify scale/%s",
                   rule, options, answers, rule);
    return run_shell(line);
}

#endif

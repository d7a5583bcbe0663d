/* A kernel that crashes ends the program. It must not end without a word: which case was it, on
   which backend?

   The handler may call nothing that is not safe in one, so the line is put together by hand. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check/case_run.h"
#include "cli/run/run_command.h"
#include "pipe.h"

static const struct hc_run_command *watched;

static size_t add(char *line, size_t used, size_t bytes, const char *text)
{
    for (; *text && used + 1 < bytes; text++)
        line[used++] = *text;
    return used;
}

static void tell(int number)
{
    char line[512];
    char digits[3] = {(char)('0' + number / 10), (char)('0' + number % 10), '\0'};
    bool sure;
    const struct hc_case_run *at = hc_case_run_now(&sure);
    size_t n = add(line, 0, sizeof line, "halfcheck: signal ");
    n = add(line, n, sizeof line, number < 10 ? digits + 1 : digits);
    n = add(line, n, sizeof line, !at ? " outside any case" : sure ? " in " : " near ");
    if (at)
        n = add(line, n, sizeof line, at->what->name);
    if (at && at->backend >= 0) {
        n = add(line, n, sizeof line, " on ");
        n = add(line, n, sizeof line, watched->backends[at->backend]->name);
    }
    n = add(line, n, sizeof line,
            sure || !at ? ", and the run ends there"
                        : ", in a thread that a kernel started, and the run ends there");
    line[n++] = '\n';
    (void)!write(STDERR_FILENO, line, n);
    hc_pipe_kill_all();
    _exit(HC_WRONG);
}

/* What is caught already is left alone: a sanitizer, or a debugger's library, says more. */
void hc_run_tell_crashes(const struct hc_run_command *run)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    watched = run;
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        struct sigaction was;
        struct sigaction action = {.sa_handler = tell};
        (void)sigemptyset(&action.sa_mask);
        if (sigaction(crashes[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
            (void)sigaction(crashes[i], &action, NULL);
    }
}

#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "cli/stop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pipe.h"

/* A run that is asked to end (by a time limit, ctrl-C, or a terminal that is closed) stops after
   the case that it is at, and keeps its results. If it is asked again, it ends at once. A signal
   within a second counts as the same request, because timeout(1) sends its signal to the process
   and to its group. */
static volatile sig_atomic_t stopped_by;
static struct timespec stopped_at;

static volatile sig_atomic_t aloud;

/* The handler runs on a stack of its own. The code that oneDNN 2 generates for products keeps
   numbers more than 128 bytes below the stack's pointer, where a handler's frame overwrites them:
   they are lost, and what they pointed to is overwritten, too. */
static char stack[1 << 16];

void hc_stop_announce(void)
{
    aloud = 1;
}

/* For people, who would wait and wonder. write(2) may be called in a handler. */
static void acknowledge(int number)
{
    static const char line[] = "\nending after what is at hand; once more ends at once\n";
    static const char by[][64] = {
        [SIGHUP] = "halfcheck: asked to end by signal 1, after what is at hand\n",
        [SIGINT] = "halfcheck: asked to end by signal 2, after what is at hand\n",
        [SIGTERM] = "halfcheck: asked to end by signal 15, after what is at hand\n"};
    int before = errno;
    if (aloud)
        (void)!write(STDERR_FILENO, by[number], strlen(by[number]));
    else if (isatty(STDERR_FILENO) == 1)
        (void)!write(STDERR_FILENO, line, sizeof line - 1);
    errno = before;
}

static void stop(int number)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (!stopped_by) {
        acknowledge(number);
        stopped_at = now;
        stopped_by = number;
    } else if (now.tv_sec - stopped_at.tv_sec > 1) {
        hc_pipe_kill_all();
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

void hc_stop_on_request(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART | SA_ONSTACK};
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) == 0 && alternate.ss_flags & SS_DISABLE) {
        alternate = (stack_t){.ss_sp = stack, .ss_size = sizeof stack};
        (void)sigaltstack(&alternate, NULL);
    }
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction was;
        /* nohup, whose program is to outlive its terminal, leaves SIGHUP ignored. */
        if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &was) == 0 && was.sa_handler == SIG_IGN)
            continue;
        (void)sigaction(numbers[i], &action, NULL);
    }
}

int hc_stop_signal(void)
{
    return (int)stopped_by;
}

#include "cli/stop.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

/* Asked to end (a time limit, ctrl-C), a run stops after the case that it is at and keeps what it has.
   Asked again after a second, it ends at once; sooner it is the same request: timeout(1) sends its
   signal to the process and to its group. */
static volatile sig_atomic_t stopped_by;
static struct timespec stopped_at;

static void stop(int number)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (!stopped_by) {
        stopped_at = now;
        stopped_by = number;
    } else if (now.tv_sec - stopped_at.tv_sec > 1) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

void hc_stop_on_request(void)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
}

int hc_stop_signal(void)
{
    return (int)stopped_by;
}

#include "cli/training/machine_load.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

double hc_cpu_busy(const char *line, double ticks)
{
    double user, nice, system, irq, softirq, steal;
    if (sscanf(line, "cpu %lf %lf %lf %*f %*f %lf %lf %lf", &user, &nice, &system, &irq, &softirq,
               &steal) != 6)
        return (double)NAN;
    return (user + nice + system + irq + softirq + steal) / ticks;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

struct hc_cpu_time hc_cpu_time(void)
{
    char line[512] = "";
    struct timespec now;
    struct rusage own;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)getrusage(RUSAGE_SELF, &own);
    FILE *file = fopen("/proc/stat", "r");
    if (file != NULL && fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    return (struct hc_cpu_time){.wall = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec,
                                .all = hc_cpu_busy(line, (double)sysconf(_SC_CLK_TCK)),
                                .own = seconds(own.ru_utime) + seconds(own.ru_stime)};
}

double hc_cpu_others(struct hc_cpu_time begun, struct hc_cpu_time ended)
{
    double wall = ended.wall - begun.wall;
    double others = (ended.all - begun.all) - (ended.own - begun.own);
    if (!(wall > 0) || isnan(others))
        return (double)NAN;
    /* The system counts whole ticks, so nothing may come out a little below nothing. */
    return others > 0 ? others / wall : 0;
}

bool hc_cpu_shared(double others)
{
    return others > 0.05 * (double)sysconf(_SC_NPROCESSORS_ONLN);
}

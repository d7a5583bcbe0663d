/* How busy other processes kept the machine while a training ran. A speed that was measured beside
   other work says little, and a ratio of two such speeds says nothing; so the record has the load,
   and tables mark what was measured under it. */
#ifndef HC_CLI_TRAINING_MACHINE_LOAD_H
#define HC_CLI_TRAINING_MACHINE_LOAD_H

#include <stdbool.h>

/* CPU time since the machine and the process were started. Seconds; NaN where the system does not
   say. */
struct hc_cpu_time {
    double wall;
    double all; /* of all processes on all CPUs, and what a hypervisor took */
    double own; /* of this process */
};

struct hc_cpu_time hc_cpu_time(void);

/* The first line of /proc/stat ("cpu  user nice system idle iowait irq softirq steal ..."), whose
   unit is 1 / ticks of a second, as busy seconds: all but idle and iowait, and not `guest`, which
   `user` has already. NaN if it is another line. */
double hc_cpu_busy(const char *line, double ticks);

/* How many CPUs other processes used on average between two points of time; NaN if that is not
   known, or if nothing passed between them. */
double hc_cpu_others(struct hc_cpu_time begun, struct hc_cpu_time ended);

/* Whether so many CPUs in other hands make a speed worthless: more than a twentieth of the cores.
   An unknown number does not. */
bool hc_cpu_shared(double others);

#endif

/* The processor, the arithmetic of this process, the terminal, and the folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/float_state.h"
#include "check/record/environment.h"
#include "cli/colour.h"
#include "cli/doctor/doctor.h"
#include "op/wrap.h"

/* What the kernels of host and avx512fp16 are compiled for, beside what every x86-64 has. */
static const char *const flags[] = {"avx2",     "fma",         "f16c",       "avx512f",
                                    "avx512bw", "avx512_bf16", "avx512_fp16"};

/* Adds the flags of the processor to a text; returns whether it has the first three. */
static bool add_flags(char *text, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    int vectors = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && getline(&line, &room, file) > 0)
        if (strncmp(line, "flags", 5) == 0)
            break;
    for (char *word = line ? strtok(line, " \t\n:") : NULL; word; word = strtok(NULL, " \t\n:"))
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
            if (strcmp(word, flags[i]) == 0) {
                size_t used = strlen(text);
                (void)snprintf(text + used, size - used, " %s", word);
                vectors += i < 3;
            }
    free(line);
    if (file)
        (void)fclose(file);
    return vectors == 3;
}

static void tell_processor(struct hc_doctor *doctor)
{
    json_t *environment = hc_environment();
    const char *model = json_string_value(json_object_get(environment, "cpu"));
    const char *threads = getenv("OMP_NUM_THREADS");
    char found[512];
    int used = snprintf(found, sizeof found, "%.120s, %ld cores%s%.20s;",
                        model ? model : "a processor without a name", sysconf(_SC_NPROCESSORS_ONLN),
                        threads ? ", OMP_NUM_THREADS=" : "", threads ? threads : "");
    bool vectors = used > 0 && add_flags(found, sizeof found);
    if (vectors)
        hc_doctor_tell(doctor, HC_HEALTH_OK, "processor", found, NULL, NULL);
    else
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "processor", found,
                       "host runs its portable loops, which are several times as slow",
                       "use a machine with AVX2, FMA and F16C");
    json_decref(environment);
}

/* A library that was loaded before main may have changed how this process rounds. */
static void tell_arithmetic(struct hc_doctor *doctor)
{
    const char *other = hc_float_state_reset();
    if (!other)
        hc_doctor_tell(doctor, HC_HEALTH_OK, "arithmetic",
                       "rounds to nearest, and keeps subnormal numbers", NULL, NULL);
    else
        hc_doctor_tell(doctor, HC_HEALTH_BROKEN, "arithmetic", other,
                       "a library that is loaded into every program changes it (LD_PRELOAD?)",
                       "env -u LD_PRELOAD halfcheck doctor");
}

static void tell_folder(struct hc_doctor *doctor)
{
    char folder[3000];
    char found[3100];
    bool here = getcwd(folder, sizeof folder) != NULL;
    bool writable = here && access(".", W_OK | X_OK) == 0;
    (void)snprintf(found, sizeof found, "%s%s", here ? folder : "the current folder is gone",
                   here && !writable ? " cannot be written" : "");
    if (writable)
        hc_doctor_tell(doctor, HC_HEALTH_OK, "folder", found, NULL, NULL);
    else
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "folder", found,
                       "a run of everything cannot leave out/record.json here",
                       "halfcheck run --json FILE writes elsewhere");
}

void hc_doctor_machine(struct hc_doctor *doctor)
{
    tell_processor(doctor);
    tell_arithmetic(doctor);
    tell_folder(doctor);
}

void hc_doctor_terminal(struct hc_doctor *doctor)
{
    static const char *const names[] = {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"};
    char found[256];
    bool draws = hc_terminal_draws(stdout);
    int used =
        draws ? snprintf(found, sizeof found, "%d columns", hc_terminal_columns(stdout, HC_COLUMNS))
              : snprintf(found, sizeof found, "none: no line of progress");
    used += snprintf(found + used, sizeof found - (size_t)used, ", %s",
                     hc_colour_on(stdout) ? "colour" : "no colour");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            used += snprintf(found + used, sizeof found - (size_t)used, ", %s is set", names[i]);
    hc_doctor_tell(doctor, HC_HEALTH_OK, "terminal", found, NULL, NULL);
}

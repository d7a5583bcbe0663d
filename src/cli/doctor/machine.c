/* The processor, the arithmetic of this process, the terminal, and the folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/environment.h"
#include "cli/colour.h"
#include "cli/doctor/doctor.h"
#include "num/float_state.h"
#include "op/wrap.h"

/* Whether the flags name all that the fast loops of host are compiled for. */
static bool has_vectors(const char *flags)
{
    static const char *const needed[] = {"avx2", "fma", "f16c"};
    char all[512];
    bool has = true;
    (void)snprintf(all, sizeof all, " %s ", flags);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        char word[16];
        (void)snprintf(word, sizeof word, " %s ", needed[i]);
        has = has && strstr(all, word);
    }
    return has;
}

static void tell_processor(struct hc_doctor *doctor)
{
    json_t *environment = hc_environment();
    const char *model = json_string_value(json_object_get(environment, "cpu"));
    const char *threads = getenv("OMP_NUM_THREADS");
    const char *flags = json_string_value(json_object_get(environment, "cpu_flags"));
    char found[512];
    (void)snprintf(found, sizeof found, "%.120s, %ld cores%s%.20s; %.256s",
                   model ? model : "a processor without a name", sysconf(_SC_NPROCESSORS_ONLN),
                   threads ? ", OMP_NUM_THREADS=" : "", threads ? threads : "", flags ? flags : "");
    if (has_vectors(flags ? flags : ""))
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

/* The start of a job of several ranks. */
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/environment.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/ranks/ranks.h"
#include "cli/stop.h"
#include "comm/started.h"
#include "op/digest.h"

enum { TEXT = 4096, PLACE = 256 };

static int cores; /* this rank's share; 0: it has not been counted */

/* The digest of the program's file, so that two builds of one commit are told apart. 0 if it cannot
   be read: on a system without /proc all ranks have that. */
static unsigned long long build(void)
{
    static unsigned char bytes[1 << 16];
    uint64_t digest = 0;
    FILE *file = fopen("/proc/self/exe", "rb");
    for (size_t n; file && (n = fread(bytes, 1, sizeof bytes, file)) > 0;)
        digest = hc_digest_bytes(digest, bytes, n);
    if (file)
        (void)fclose(file);
    return (unsigned long long)digest;
}

static void add(char text[TEXT], const char *between, const char *word)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, TEXT - used, "%s%s", used ? between : "", word);
}

/* The variables that decide what is computed, but for paths, which may differ between machines. */
static void add_settings(char text[TEXT])
{
    static const char *const variables[] = {"HALFCHECK_HIDE",
                                            "OMP_DYNAMIC",
                                            "ONEDNN_MAX_CPU_ISA",
                                            "DNNL_MAX_CPU_ISA",
                                            "ONEDNN_DEFAULT_FPMATH_MODE",
                                            "DNNL_DEFAULT_FPMATH_MODE"};
    char line[256];
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (!value)
            continue;
        (void)snprintf(line, sizeof line, "%s=%s", variables[i], value);
        add(text, " ", line);
    }
    if (!text[0])
        add(text, "", "no variable that decides bits");
}

/* Where this rank runs: its host, and the cores that it may use there. */
static void place_of(const struct hc_ranks *ranks, char place[PLACE])
{
    static const char key[] = "Cpus_allowed_list:";
    char line[PLACE] = "";
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file) && strncmp(line, key, sizeof key - 1) != 0)
        line[0] = '\0';
    if (file)
        (void)fclose(file);
    memset(place, 0, PLACE);
    (void)snprintf(place, PLACE, "%.63s %.150s", ranks->host, line);
}

/* mpirun binds each rank to a core of its own, or, with --oversubscribe or --bind-to none, leaves
   all cores to all. Only those that share cores part them. */
static enum hc_status count_cores(const struct hc_ranks *ranks)
{
    int size = ranks->comm->size;
    int beside = 0;
    char mine[PLACE];
    char *all = calloc((size_t)size, PLACE);
    place_of(ranks, mine);
    if (!all)
        return hc_fail(HC_NO_MEMORY, "no memory for the places of %d ranks", size);
    enum hc_status status = hc_comm_all_gather(ranks->comm, mine, PLACE, all);
    for (int r = 0; r < size && status == HC_OK; r++)
        beside += memcmp(all + (size_t)r * PLACE, mine, PLACE) == 0;
    free(all);
    cores = beside > 0 ? omp_get_num_procs() / beside : 1;
    cores = cores > 0 ? cores : 1;
    if (!getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(cores);
    return status;
}

int hc_ranks_cores(void)
{
    return cores ? cores : omp_get_num_procs();
}

/* There is no way to the other ranks. What all lack rank 0 has said before this one comes here
   (comm/comm.c). */
static enum hc_status alone_in_trouble(void)
{
    const struct hc_started started = hc_started();
    char line[HC_RANKS_LINE];
    if (started.rank == 0)
        return HC_DEVICE;
    (void)snprintf(line, sizeof line, "%s", hc_message());
    return hc_fail(HC_DEVICE, "rank %d: %s", started.rank, line);
}

static enum hc_status be_silent(void)
{
    hc_complain_silently();
    return freopen("/dev/null", "w", stdout)
               ? HC_OK
               : hc_fail(HC_IO, "cannot open /dev/null: %s", strerror(errno));
}

enum hc_status hc_ranks_begin(const char *const *command_line)
{
    struct hc_ranks *ranks = hc_ranks();
    char program[256];
    char words[TEXT] = "";
    char settings[TEXT] = "";
    struct hc_comm *world = hc_comm_world();
    if (!world)
        return alone_in_trouble();
    ranks->comm = world;
    if (world->size > 1 || getenv("OMPI_COMM_WORLD_SIZE"))
        hc_terminal_none();
    if (world->size == 1)
        return HC_OK;
    enum hc_status status = world->rank == 0 ? HC_OK : be_silent();
    if (world->rank == 0)
        hc_stop_says_so();
    if (gethostname(ranks->host, sizeof ranks->host) != 0)
        (void)snprintf(ranks->host, sizeof ranks->host, "a host without a name");
    ranks->host[sizeof ranks->host - 1] = '\0';
    (void)snprintf(program, sizeof program, "%s, build %016llx", hc_version(), build());
    for (int i = 0; command_line[i]; i++)
        add(words, " ", command_line[i]);
    add_settings(settings);
    const struct hc_ranks_fact facts[] = {
        {"runs", program}, {"was called as", words}, {"was started with", settings}};
    status = hc_ranks_meet(ranks, "start", status, facts, 3);
    return status == HC_OK ? count_cores(ranks) : status;
}

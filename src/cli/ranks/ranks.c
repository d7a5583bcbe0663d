#include "cli/ranks/ranks.h"

#include <assert.h>
#include <errno.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/record/environment.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/lines.h"
#include "cli/stop.h"
#include "comm/started.h"
#include "op/digest.h"

/* The start of a job of several ranks. */

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

static void append_word(char text[TEXT], const char *between, const char *word)
{
    hc_append(text, TEXT, "%s%s", text[0] ? between : "", word);
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
        append_word(text, " ", line);
    }
    if (!text[0])
        append_word(text, "", "no variable that decides bits");
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
        hc_stop_announce();
    if (gethostname(ranks->host, sizeof ranks->host) != 0)
        (void)snprintf(ranks->host, sizeof ranks->host, "a host without a name");
    ranks->host[sizeof ranks->host - 1] = '\0';
    (void)snprintf(program, sizeof program, "%s, build %016llx", hc_version(), build());
    for (int i = 0; command_line[i]; i++)
        append_word(words, " ", command_line[i]);
    add_settings(settings);
    const struct hc_ranks_fact facts[] = {
        {"runs", program}, {"was called as", words}, {"was started with", settings}};
    status = hc_ranks_meet(ranks, "start", status, facts, 3);
    return status == HC_OK ? count_cores(ranks) : status;
}

enum { WORD = 24, VERB = 32 };

/* What a rank brings to a meeting. It is the first thing that two versions of halfcheck would tell
   each other, so its layout stays as it is: texts, and one number. */
struct card {
    char where[WORD];
    char host[HC_RANKS_HOST];
    char line[HC_RANKS_LINE];
    struct {
        char verb[VERB];
        char value[HC_RANKS_VALUE];
    } fact[HC_RANKS_FACTS];
    int32_t status;
};

static struct hc_ranks own;

struct hc_ranks *hc_ranks(void)
{
    if (!own.comm)
        own.comm = hc_comm_self();
    return &own;
}

bool hc_ranks_speaks(void)
{
    return hc_ranks()->comm->rank == 0;
}

bool hc_ranks_several(void)
{
    return hc_ranks()->comm->size > 1;
}

/* Two texts that differ only behind the cut still differ in the digest. */
static void copy_value(char value[HC_RANKS_VALUE], const char *text)
{
    size_t length = strlen(text);
    if (length < HC_RANKS_VALUE) {
        memcpy(value, text, length + 1);
        return;
    }
    (void)snprintf(value, HC_RANKS_VALUE, "%.160s... [%016llx]", text,
                   (unsigned long long)hc_digest_bytes(0, text, length));
}

static void fill_facts(struct card *card, const struct hc_ranks *ranks, const char *where,
                       enum hc_status mine, const struct hc_ranks_fact *facts, int count)
{
    assert(count <= HC_RANKS_FACTS);
    memset(card, 0, sizeof *card);
    (void)snprintf(card->where, sizeof card->where, "%s", where);
    (void)snprintf(card->host, sizeof card->host, "%s", ranks->host);
    card->status = (int32_t)mine;
    if (mine != HC_OK)
        (void)snprintf(card->line, sizeof card->line, "%s", hc_message());
    for (int i = 0; i < count; i++) {
        (void)snprintf(card->fact[i].verb, sizeof card->fact[i].verb, "%s", facts[i].verb);
        copy_value(card->fact[i].value, facts[i].value);
    }
}

/* Cards come from other processes. */
static void end_texts(struct card *card)
{
    card->where[WORD - 1] = card->host[HC_RANKS_HOST - 1] = card->line[HC_RANKS_LINE - 1] = '\0';
    for (int i = 0; i < HC_RANKS_FACTS; i++)
        card->fact[i].verb[VERB - 1] = card->fact[i].value[HC_RANKS_VALUE - 1] = '\0';
}

/* "rank 3 on node7", or "rank 3" where all ranks are on one host. */
static const char *name_of(const struct card *cards, int size, int rank, char name[128])
{
    bool several = false;
    for (int r = 1; r < size; r++)
        several |= strcmp(cards[r].host, cards[0].host) != 0;
    (void)snprintf(name, 128, several ? "rank %d on %s" : "rank %d", rank, cards[rank].host);
    return name;
}

/* The first rank that cannot go on. */
static enum hc_status first_failure(const struct card *cards, int size)
{
    char name[128];
    for (int r = 0; r < size; r++)
        if (cards[r].status != HC_OK)
            return r == 0 ? hc_fail((enum hc_status)cards[r].status, "%s", cards[r].line)
                          : hc_fail((enum hc_status)cards[r].status, "%s: %s",
                                    name_of(cards, size, r, name), cards[r].line);
    return HC_OK;
}

static enum hc_status first_difference(const struct card *cards, int size)
{
    char name[128];
    char first[128];
    for (int i = 0; i < HC_RANKS_FACTS; i++)
        for (int r = 1; r < size; r++)
            if (strcmp(cards[r].where, cards[0].where) == 0 &&
                strcmp(cards[r].fact[i].value, cards[0].fact[i].value) != 0)
                return hc_fail(HC_INVALID, "%s %s %s; %s %s %s", name_of(cards, size, r, name),
                               cards[r].fact[i].verb, cards[r].fact[i].value,
                               name_of(cards, size, 0, first), cards[0].fact[i].verb,
                               cards[0].fact[i].value);
    for (int r = 1; r < size; r++)
        if (strcmp(cards[r].where, cards[0].where) != 0)
            return hc_fail(HC_INVALID, "%s is at the %s, and %s at the %s",
                           name_of(cards, size, r, name), cards[r].where,
                           name_of(cards, size, 0, first), cards[0].where);
    return HC_OK;
}

enum hc_status hc_ranks_meet(struct hc_ranks *ranks, const char *where, enum hc_status mine,
                             const struct hc_ranks_fact *facts, int count)
{
    int size = ranks->comm->size;
    if (size == 1 || ranks->over)
        return mine;
    struct card *cards = calloc((size_t)size, sizeof *cards);
    /* The others wait for this rank, and nothing but their end can tell them. */
    if (!cards) {
        hc_ranks_complain("no memory for what the ranks tell each other");
        ranks->comm->kind->abort(ranks->comm, HC_WRONG);
        return hc_fail(HC_NO_MEMORY, "no memory for the cards of %d ranks", size);
    }
    struct card *my = &cards[ranks->comm->rank];
    fill_facts(my, ranks, where, mine, facts, count);
    enum hc_status status = hc_comm_all_gather(ranks->comm, my, sizeof *my, cards);
    ranks->lost = status != HC_OK;
    for (int r = 0; r < size && status == HC_OK; r++)
        end_texts(&cards[r]);
    if (status == HC_OK)
        status = first_failure(cards, size);
    if (status == HC_OK)
        status = first_difference(cards, size);
    ranks->over = status != HC_OK;
    free(cards);
    return status;
}

void hc_ranks_complain(const char *line)
{
    if (hc_ranks_speaks())
        (void)hc_complain("%s", line);
    else
        (void)fprintf(stderr, "halfcheck: rank %d: %s\n", own.comm->rank, line);
}

enum hc_status hc_ranks_agree(const char *where, enum hc_status mine,
                              const struct hc_ranks_fact *facts, int count)
{
    return hc_ranks_meet(hc_ranks(), where, mine, facts, count);
}

int hc_ranks_end(struct hc_ranks *ranks, int status, const char *line, bool *say)
{
    *say = false;
    if (ranks->comm->size == 1 || ranks->over)
        return status;
    enum hc_status mine = HC_OK;
    if (status == HC_WRONG)
        mine = hc_fail(HC_INVALID, "%s", line[0] ? line : "it ended with status 2");
    bool wrong = hc_ranks_meet(ranks, "end", mine, NULL, 0) != HC_OK;
    /* Rank 0 has said its own line. */
    *say = wrong && ranks->comm->rank == 0 && status != HC_WRONG;
    ranks->over = true;
    if (wrong)
        return HC_WRONG;
    ranks->lost = hc_comm_broadcast(ranks->comm, 0, &status, sizeof status) != HC_OK;
    return ranks->lost ? HC_WRONG : status;
}

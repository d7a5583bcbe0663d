#include "cli/ranks/ranks.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "op/digest.h"
#include "op/text.h"

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

static void fill(struct card *card, const struct hc_ranks *ranks, const char *where,
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
    fill(my, ranks, where, mine, facts, count);
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

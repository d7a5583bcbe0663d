/* A program that mpirun starts as several ranks, for tests. Its first word says what they do:
     works          everything that a comm can, with each size
     averages       vectors averaged in each stated order, and by the library
     hangs          letters round a ring for ever: somebody will end it
     resumes        the same, and there is a checkpoint
     stays          the same, whatever SIGTERM asks for
     long BYTES     letters of that many bytes, gathers and broadcasts of half as many
     leaves HOW     rank 1 goes its own way
     sizes          a mistake of a programmer, which an assertion catches
   Rank 0 says "N ranks: as they should". Each rank may say a line of its own; the exit status is 2
   then. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/testing.h"

static enum hc_status works(struct hc_comm *comm, const char *word)
{
    float numbers[5];
    (void)word;
    for (int i = 0; i < 5; i++)
        numbers[i] = (float)(i + comm->rank);
    enum hc_status status = comm_works(comm, NULL);
    if (status == HC_OK)
        status = comm->kind->sum_anyhow(comm, HC_FP32, numbers, 5);
    for (int i = 0; i < 5 && status == HC_OK; i++)
        HC_EXPECT((int)numbers[i] == comm->size * i + comm->size * (comm->size - 1) / 2,
                  "the library's sum is another");
    if (status == HC_OK && comm->size > 1)
        HC_EXPECT(comm->kind->sum_anyhow(comm, HC_BF16, numbers, 5) == HC_UNSUPPORTED,
                  "MPI adds bf16");
    return status;
}

/* The library has integers to add, whose sums are exact in its order, too. */
static enum hc_status averages(struct hc_comm *comm, const char *word)
{
    struct hc_all_reduce how = {HC_COLLECTIVE_LIBRARY, HC_FP32, 1, 2, false};
    float numbers[5];
    float room[10];
    (void)word;
    for (int i = 0; i < 5; i++)
        numbers[i] = (float)(i + comm->rank);
    enum hc_status status = averages_agree(comm);
    if (status == HC_OK)
        status = hc_comm_all_reduce(comm, &how, HC_FP32, numbers, 5, room, NULL);
    for (int i = 0; i < 5 && status == HC_OK; i++)
        HC_EXPECT(4 * numbers[i] == (float)(comm->size * (2 * i + comm->size - 1)),
                  "the library's sum, halved, is another");
    return status;
}

static enum hc_status hangs(struct hc_comm *comm, const char *word)
{
    enum hc_status status = HC_OK;
    (void)word;
    (void)printf("rank %d is process %ld\n", comm->rank, (long)getpid());
    (void)fflush(stdout);
    while (status == HC_OK) {
        status = letters_arrive(comm, 1000);
        if (status == HC_OK)
            status = gathers_and_broadcasts(comm, 100);
    }
    return status;
}

static enum hc_status resumes(struct hc_comm *comm, const char *word)
{
    hc_comm_can_resume();
    return hangs(comm, word);
}

static enum hc_status stays(struct hc_comm *comm, const char *word)
{
    (void)signal(SIGTERM, SIG_IGN);
    return hangs(comm, word);
}

static enum hc_status is_long(struct hc_comm *comm, const char *word)
{
    size_t bytes = (size_t)strtoull(word, NULL, 10);
    enum hc_status status = letters_arrive(comm, bytes);
    return status == HC_OK ? gathers_and_broadcasts(comm, bytes / 2) : status;
}

static enum hc_status sizes(struct hc_comm *comm, const char *word)
{
    char bytes[16] = {0};
    (void)word;
    return hc_comm_send_receive(comm, 1 - comm->rank, bytes, 4, 1 - comm->rank, bytes + 4,
                                comm->rank ? 4 : 3);
}

/* Rank 1 goes its own way, which the word says, and the others wait for it. */
static enum hc_status leaves(struct hc_comm *comm, const char *word)
{
    if (comm->rank != 1)
        return hc_comm_barrier(comm);
    if (strcmp(word, "refuses") == 0)
        return hc_fail(HC_IO, "its disk is full");
    if (strcmp(word, "exits") == 0)
        exit(0);
    if (strcmp(word, "crashes") == 0)
        abort();
    if (strcmp(word, "aborts") == 0)
        comm->kind->abort(comm, 2);
    return HC_OK;
}

static const struct {
    const char *word;
    enum hc_status (*run)(struct hc_comm *comm, const char *word);
} jobs[] = {{"works", works}, {"averages", averages}, {"hangs", hangs}, {"resumes", resumes},
            {"stays", stays}, {"long", is_long},      {"sizes", sizes}, {"leaves", leaves}};

int main(int argc, char **argv)
{
    struct hc_comm *comm = hc_comm_world();
    enum hc_status status = comm ? HC_UNSUPPORTED : HC_INVALID;
    for (size_t i = 0; comm && argc > 1 && i < sizeof jobs / sizeof *jobs; i++)
        if (strcmp(jobs[i].word, argv[1]) == 0)
            status = jobs[i].run(comm, argc > 2 ? argv[2] : "");
    if (status != HC_OK)
        (void)fprintf(stderr, "ranks: rank %d: %s\n", comm ? comm->rank : -1, hc_message());
    else if (comm->rank == 0)
        (void)printf("%d ranks: as they should, %s\n", comm->size, comm->kind->title);
    (void)fflush(stdout);
    hc_comm_end(status == HC_OK ? 0 : 2);
    return status == HC_OK ? 0 : 2;
}

/* The ranks of a job, as the command line sees them: who speaks, and how all come to one end.

   All ranks read the same command line and do the same things, so most of what one would say all
   would. Rank 0 says it for all; the others are silent, and write no files. What differs comes out
   where ranks meet: each brings whether it can go on, and facts that must be the same everywhere.
   One that cannot, or that differs, ends all of them, and rank 0 names it. A rank that is done
   early waits in the last meeting, so that no other waits for it in vain. */
#ifndef HC_CLI_RANKS_RANKS_H
#define HC_CLI_RANKS_RANKS_H

#include <stdbool.h>

#include "comm/comm.h"

enum { HC_RANKS_HOST = 64, HC_RANKS_LINE = 512, HC_RANKS_VALUE = 200, HC_RANKS_FACTS = 6 };

/* Something that is the same on all ranks: "runs", "halfcheck 0.3.0". The texts are copied; what is
   too long is cut, and ends in a digest of the whole. */
struct hc_ranks_fact {
    const char *verb;
    const char *value;
};

struct hc_ranks {
    struct hc_comm *comm;
    char host[HC_RANKS_HOST]; /* of this rank */
    bool over;                /* a meeting has ended the job, or the last one is done */
    bool lost;                /* the comm failed: a rank is gone, or will not come */
};

/* Those of this process: `self` until hc_ranks_begin. */
struct hc_ranks *hc_ranks(void);

/* Whether this rank speaks and writes for all; and whether there are others. */
bool hc_ranks_speaks(void);
bool hc_ranks_several(void);

/* All ranks meet at `where`, a word. `mine`: whether this rank can go on; if not, hc_message says
   why. All get the same status. Where it is not HC_OK, the line is that of the first rank that
   cannot go on, or that brought another value than rank 0, and names it unless it is rank 0's own.
   One rank alone meets nobody: its own status comes back. */
enum hc_status hc_ranks_meet(struct hc_ranks *ranks, const char *where, enum hc_status mine,
                             const struct hc_ranks_fact *facts, int count);

/* The same for the ranks of this process. */
enum hc_status hc_ranks_agree(const char *where, enum hc_status mine,
                              const struct hc_ranks_fact *facts, int count);

/* The last meeting. `status` is this rank's exit status, `line` what it would have complained of,
   or "". Returns the exit status of all: that of rank 0, or HC_WRONG if a rank is wrong alone;
   hc_message then says which and why, and *say tells whether rank 0 has still to say so. */
int hc_ranks_end(struct hc_ranks *ranks, int status, const char *line, bool *say);

/* Opens the ranks of this process, and compares what must be the same before anything is done: the
   program, its command line, and the settings that decide bits. HC_DEVICE or HC_INVALID. */
enum hc_status hc_ranks_begin(const char *const *command_line);

/* Says at once, before this rank ends the program, what ends it. */
void hc_ranks_complain(const char *line);

/* The cores that this rank may use: those of its process, shared with the ranks beside it that may
   use the same ones. */
int hc_ranks_cores(void);

#endif

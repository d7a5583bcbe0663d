/* Runs cases on backends. */
#ifndef HC_CHECK_RUNNER_H
#define HC_CHECK_RUNNER_H

#include <stdio.h>

#include "check/check.h"
#include "check/omissions.h"
#include "check/record/shard.h"
#include "check/story/story.h"

#define HC_MAX_BACKENDS 64

extern const char *const hc_level_names[]; /* ends with NULL */

/* Whether one of the patterns matches the name. A pattern is a glob, in which '*' also matches '/';
   or the beginning of names up to a slash, such as "eps" or "op/add". No patterns at all match
   every name. */
bool hc_matches(const char *const *patterns, int count, const char *name);

struct hc_run_options {
    const struct hc_case *const *cases; /* all there are, by name */
    int case_count;
    const char *const *patterns; /* over case names, as in hc_matches; none: all */
    int pattern_count;
    const char *const
        *required; /* a case of such a name that is left out, or UNIMPLEMENTED, FAILs */
    int required_count;
    const struct hc_backend *const *backends; /* those to run on */
    int backend_count;
    bool by_default; /* nobody named them: each runs its default_cases alone, if it states some */
    const struct hc_backend *exact; /* what they are compared with; NULL: the backend `exact` */
    const char *order; /* that backends of free order are held to (check/free_order.h), or NULL */
    const char *fallback;    /* what --fallback names, for commands that repeat a result, or NULL */
    const char *definitions; /* words of a command that repeats a case of these; NULL: none */
    enum hc_level level;
    bool bits_only; /* kernels run, and nothing is claimed: results have digests alone */
    uint64_t seed;
    int threads; /* of the queues and of the comparisons; 0: one per core, or a worker's share */
    int workers; /* cases that run side by side where all backends are `concurrent`; 0: one */
    struct hc_shard *shard; /* run only what belongs to it; NULL: everything */
    struct hc_shard *share; /* and of that only what belongs to this rank of several; NULL: all */
    /* How long a case is likely to take on a backend ("-" if it runs once), by which shards are
       balanced; NULL: all take as long. */
    double (*seconds)(const struct hc_case *what, const char *backend, void *context);
    struct hc_known *known; /* kept by one worker over several runs (check/known.h); NULL: anew */
    struct hc_story *story; /* what is told of the cases (check/story/story.h), or NULL */

    /* Called before each case on each backend ("-" if it runs once), or, with several workers,
       before its result is waited for. May be NULL. All callbacks are called by one thread. */
    void (*starting)(const struct hc_case *what, const char *backend, void *context);
    /* Called with each result, in the order of the cases and then of the backends; the run stops
       when it returns false. The result lives only as long as the call. */
    bool (*report)(const struct hc_result *result, void *context);
    /* Counts what is left out for partial backends, and for those without fp64; may be NULL. */
    struct hc_omissions *omissions;
    /* Called for each backend that ran, before its queue is closed; may be NULL. */
    void (*closing)(const struct hc_backend *backend, struct hc_queue *queue, void *context);
    void *context;
};

enum { HC_MAX_WORKERS = 256 };

/* The number of cores that the process may use, and so of a run's workers. */
int hc_run_cores(void);

/* Whether the case asks no matrix unit, or the backend names one that it asks. */
bool hc_case_asks(const struct hc_case *what, const struct hc_backend *backend);

/* HC_INVALID if a pattern matches no case, or no chosen case runs at that level. */
enum hc_status hc_run_possible(const struct hc_run_options *options);

/* The same, or what a backend's open returned. A backend that is unavailable has SKIPPED
   results. */
enum hc_status hc_run_cases(const struct hc_run_options *options);

/* Whether a case of those chosen runs on the backend. */
bool hc_runs_on(const struct hc_run_options *options, const struct hc_backend *backend);

/* How many times `starting` will be called, and the plan of the shard. Less than 0: no memory. */
int hc_run_length(const struct hc_run_options *options);

#endif

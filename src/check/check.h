/* A check: one case running on one backend, and the tally of its claims. */
#ifndef HC_CHECK_CHECK_H
#define HC_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "op/call.h"

enum hc_verdict {
    HC_PASS,
    HC_FAIL,
    HC_SKIPPED,       /* cannot run here; the note says why */
    HC_UNIMPLEMENTED, /* the backend has no kernel for an op that the case needs */
    HC_MISTRUSTED,    /* ran, but nothing was really exercised */
    HC_ERROR,         /* the environment failed */
    HC_VERDICT_COUNT
};

extern const char *const hc_verdict_names[HC_VERDICT_COUNT];

enum hc_level { HC_QUICK, HC_STANDARD, HC_EXHAUSTIVE };

struct hc_check;

/* A claim that can be wrong. */
struct hc_case {
    const char *name;    /* component/claim, in lower case and dashes */
    const char *title;   /* the claim, one sentence */
    const char *source;  /* where it comes from: a thread, a paper, a seed file, a specification */
    enum hc_level level; /* the lowest level at which it runs */
    bool once;           /* says nothing about a backend: runs once, backend "-" */
    void (*run)(struct hc_check *check);
    const void *data;   /* for rows that share a function */
    bool against_exact; /* compares with the backend `exact`, and is left out for that */
};

/* What a case file exports, as hc_cases_<folder>_<file>. */
struct hc_case_table {
    const struct hc_case *cases;
    int count;
};

struct hc_picture;

struct hc_result {
    const struct hc_case *what;
    const char *backend;
    enum hc_verdict verdict;
    int64_t checked;       /* comparisons made */
    double error;          /* of the comparison with the largest error / bound */
    double bound;          /* of the same comparison; 0 where only equal bits will do */
    const char *unit;      /* of both: "abs", "ulp", "bits" (how many differ) */
    double implementation; /* largest |got - format-exact| / bound, NaN where not measured */
    double format;         /* largest |format-exact - real| / bound, NaN where not measured */
    double line; /* largest |got - real| / line (check/bound/line.h), NaN where there is none */
    int64_t looked_at; /* elements of op's outputs that were compared with MPFR, */
    int64_t looked_of; /* of so many; the others with `exact` alone, where that runs */
    int64_t special;   /* of those looked at: infinite, NaN, subnormal, -0, or of such an input */
    uint64_t seed;
    double seconds;
    struct hc_picture *pictures; /* the first one, or NULL (check/record/picture.h) */
    char note[320];
};

/* error / bound: 0 where there is no error, infinite where a bound of 0 is missed or a NaN came out. */
double hc_ratio(double error, double bound);

/* What this check runs on. hc_check_backend is NULL in a case that runs once. */
const struct hc_case *hc_check_case(const struct hc_check *check);
const struct hc_backend *hc_check_backend(const struct hc_check *check);
struct hc_queue *hc_check_queue(const struct hc_check *check);
uint64_t hc_check_seed(const struct hc_check *check);
enum hc_level hc_check_level(const struct hc_check *check);

/* Zeroed memory, aligned to 64, that lives until the case ends. Where there is none the case ends
   here and now as an ERROR, and what it holds besides is lost. Not to be called by several
   threads. */
void *hc_check_memory(struct hc_check *check, size_t bytes);
struct hc_tensor hc_check_vector(struct hc_check *check, enum hc_format format, int64_t n);

/* Runs a call whose tensors lie in host memory on the backend under test: copies inputs in and
   outputs out where the backend has memory of its own, and provides scratch. What is not HC_OK has
   already set the verdict (UNIMPLEMENTED, ERROR): the case just returns, and what it claims before it
   does counts no more. */
enum hc_status hc_do(struct hc_check *check, const struct hc_call *call);

/* Claims. Each counts one comparison and returns whether it held; `what` names the compared thing
   ("w after step 5"). Values: NaN equals NaN, +0 and -0 differ. A difference in hc_claim_bits is
   counted in ulp. */
bool hc_claim_bits(struct hc_check *check, const char *what, enum hc_format format, uint64_t want,
                   uint64_t got);
bool hc_claim_value(struct hc_check *check, const char *what, double want, double got);
bool hc_claim_within(struct hc_check *check, const char *what, double want, double got,
                     double bound);
bool hc_claim_true(struct hc_check *check, const char *what, bool held);

/* The fast form for sweeps: `checked` comparisons were made, `wrong` of them failed, `first` says
   the first of those ("0x477fefff: want 0x7bff, got 0x7c00"), NULL if none. */
void hc_claim_sweep(struct hc_check *check, int64_t checked, int64_t wrong, const char *first);

/* The call on the backend under test, on `exact` and against the reference, with the bound of
   check/bound/bound.h: every element of a small output, a seeded sample of a large one. */
void hc_claim_call(struct hc_check *check, const struct hc_call *call);

/* What is known of the inputs of a call. */
enum hc_inputs {
    HC_INPUTS_ANY,
    /* Independent and with random bits, so that rounding errors are independent: sums have a second,
       tighter line (check/bound/line.h). */
    HC_INPUTS_RANDOM,
    /* Sums stand still, by terms too small for them. */
    HC_INPUTS_STAGNANT,
    /* No sum of them is rounded before its end: their results are settled to the bit. */
    HC_INPUTS_WHOLE,
};

/* The same with what is known of the inputs. */
void hc_claim_call_on(struct hc_check *check, const struct hc_call *call, enum hc_inputs inputs);

/* The same for a call met on the way, whose inputs were made by calls before it and not to exercise
   the op: small outputs that need no rounding are not MISTRUSTED. */
void hc_claim_call_met(struct hc_check *check, const struct hc_call *call);

/* The call on the backend under test and on `exact`, each with outputs of its own: the same bits in all
   elements, NaN for NaN; `what` names the inputs. False when there was nothing to compare: the verdict
   is set then. For cases that are `against_exact`. */
bool hc_claim_exact_bits(struct hc_check *check, const char *what, const struct hc_call *call);

enum { HC_MARKS = 3, HC_SERIES_POINTS = 200 };

/* A vertical line in a picture. */
struct hc_mark {
    double x;
    const char *text; /* NULL: none */
};

/* The frame of a picture in a report. Its texts live as long as the program. */
struct hc_frame {
    const char *title;
    const char *x; /* what the axis shows, and in which unit */
    const char *y;
    bool log_x; /* to base 2 */
    bool log_y; /* to base 10 */
    bool bars;  /* a histogram: each point is a bar, as wide as the points are apart */
    struct hc_mark marks[HC_MARKS];
};

/* A picture without points, and a point of one of its series, from left to right. The record keeps at
   most HC_SERIES_POINTS of a series, evenly spread, and its last point. Pictures claim nothing. The
   name of a series lives as long as the program. */
struct hc_picture *hc_picture_new(struct hc_check *check, const struct hc_frame *frame);
void hc_point(struct hc_check *check, struct hc_picture *picture, const char *series, double x,
              double y);

/* Ends as SKIPPED or MISTRUSTED with that reason (unless a claim has failed already). */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_skip(struct hc_check *check, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_mistrust(struct hc_check *check, const char *format, ...);

/* Whether status is HC_OK; otherwise the case ends as UNIMPLEMENTED (HC_UNSUPPORTED) or ERROR, with
   hc_message(). */
bool hc_check_ok(struct hc_check *check, enum hc_status status);

/* Ends as ERROR with hc_message(). */
void hc_check_failed(struct hc_check *check);

/* What a reader of the result should know though every claim holds; the words of a failure before it
   stay. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_remark(struct hc_check *check, const char *format, ...);

/* A line of `halfcheck explain`; costs nothing otherwise. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_say(struct hc_check *check, const char *format, ...);

#endif

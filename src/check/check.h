/* A check: one case that runs on one backend, and the verdict on its claims.

   A case (struct hc_case) is a claim that can be wrong. Its function makes inputs, runs calls of
   ops on the backend under test, and makes claims: each claim compares what the case wants with
   what it got. The first comparison that fails sets the verdict FAIL and leaves its words as the
   note of the result. A call that cannot be run sets UNIMPLEMENTED or ERROR, and nothing that is
   claimed after it counts. A case that claims nothing, or whose inputs exercise nothing, is
   MISTRUSTED. */
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
    bool once;           /* the claim is about no backend: the case runs once, on backend "-" */
    void (*run)(struct hc_check *check);
    const void *data;   /* for rows that share a function */
    bool against_exact; /* compares with the backend `exact`, and does not run on it */
    bool fast_only; /* does not run on `exact`, nor on simulated units, which would take minutes */
    const char *units; /* globs: it runs only on backends that name such a matrix unit; or NULL */
    bool defined;      /* it calls definitions: it runs only on backends that take some */
};

/* Whether one of the globs, which have a space between them, matches the name. */
bool hc_any_glob(const char *globs, const char *name);

/* What a case file exports, as hc_cases_<folder>_<file>. */
struct hc_case_table {
    const struct hc_case *cases;
    int count;
};

struct hc_picture;
struct hc_exhibits;

/* How errors are spread (check/record/spread.h): elements by their error in ulp, and the largest
   error of inputs whose exponents of 2 lie in a bin. */
enum { HC_ULP_BINS = 24, HC_INPUT_BINS = 80, HC_INPUT_LEAST = -160, HC_INPUT_STEP = 4 };

struct hc_spread {
    int64_t ulps[HC_ULP_BINS]; /* 0, up to 1/2, up to 1, up to 2, up to 4, ... */
    struct {
        bool seen;
        double ulps;
    } input[HC_INPUT_BINS];
};

/* The call of most terms in all its results, and how large it was: "gemm 257x255x129", as
   elements and then terms, or the extents of its first input. */
struct hc_largest {
    char call[48]; /* "" if there was none */
    int64_t work;
};

struct hc_result {
    const struct hc_case *what;
    const struct hc_case *beside; /* what it shows it shows only beside this one; or NULL */
    const char *backend;
    enum hc_verdict verdict;
    int64_t checked;       /* comparisons made */
    int64_t wrong;         /* of these, those that do not hold */
    double error;          /* of the comparison with the largest error / bound */
    double bound;          /* of the same comparison; 0 where only equal bits will do */
    const char *unit;      /* of both: "abs", "ulp", "bits" (how many differ), "claims" */
    double implementation; /* largest |got - format-exact| / bound, NaN where not measured */
    double format;         /* largest |format-exact - real| / bound, NaN where not measured */
    double line;           /* largest |got - real| / line (bound/line.h), NaN where there is none */
    int64_t looked_at;     /* elements of outputs that were compared with MPFR, */
    int64_t looked_of;     /* out of so many; the others are compared with `exact` alone */
    int64_t special;       /* of looked_at: infinite, NaN, subnormal or -0, or with such an input */
    struct hc_largest largest; /* of the calls that were judged, the one of most work */
    uint64_t digest;           /* of the bits that the kernels gave (check/digest.h); 0: none */
    struct hc_spread spread;   /* of looked_at, as far as they are finite */
    uint64_t seed;
    double seconds;
    struct hc_picture *pictures;        /* the first one, or NULL (check/record/picture.h) */
    const struct hc_exhibits *exhibits; /* a bug's table, or NULL (story/exhibit.h) */
    char note[320];
};

/* error / bound: 0 where there is no error; infinite where a bound of 0 is missed or error is
   NaN. */
double hc_ratio(double error, double bound);

/* What this check runs on. hc_check_backend is NULL in a case that runs once. */
const struct hc_case *hc_check_case(const struct hc_check *check);
const struct hc_backend *hc_check_backend(const struct hc_check *check);
struct hc_queue *hc_check_queue(const struct hc_check *check);
uint64_t hc_check_seed(const struct hc_check *check);
enum hc_level hc_check_level(const struct hc_check *check);

/* Zeroed memory, aligned to 64 bytes, that lives until the case ends. If there is none, the case
   ends at once as an ERROR, and other resources that it holds are lost. One thread at a time. */
void *hc_check_memory(struct hc_check *check, size_t bytes);

/* The tensor with such memory as its data; and a vector of n elements. */
struct hc_tensor hc_check_tensor(struct hc_check *check, struct hc_tensor shape);
struct hc_tensor hc_check_vector(struct hc_check *check, enum hc_format format, int64_t n);

/* Runs a call whose tensors lie in host memory on the backend under test: copies inputs in and
   outputs out where the backend has memory of its own, and provides scratch. On any status but
   HC_OK the verdict (UNIMPLEMENTED or ERROR) is already set and later claims are ignored; the case
   should return. */
enum hc_status hc_do(struct hc_check *check, const struct hc_call *call);

/* Runs a call of a definition whose tensors lie in host memory, between guards, and twice, as hc_do
   runs a call of an op: HC_OK, or the verdict is set. */
enum hc_status hc_do_defined(struct hc_check *check, const struct hc_defined_call *call);

/* Claims. Each counts one comparison and returns whether it held; `what` names the compared thing
   ("w after step 5"). Values: NaN equals NaN, +0 and -0 differ. A difference in hc_claim_bits is
   counted in ulp. */
bool hc_claim_bits(struct hc_check *check, const char *what, enum hc_format format, uint64_t want,
                   uint64_t got);
bool hc_claim_value(struct hc_check *check, const char *what, double want, double got);
bool hc_claim_within(struct hc_check *check, const char *what, double want, double got,
                     double bound);
bool hc_claim_true(struct hc_check *check, const char *what, bool held);

/* Whether two codes of a format are the same number: the same bits, or both NaN. */
bool hc_same_bits(enum hc_format format, uint64_t want, uint64_t got);

/* Many comparisons that are claimed as one: how many were made, how many failed, and words about
   the first that failed. Begins as {0}. */
struct hc_comparisons {
    const char *what; /* is compared, for halfcheck explain; NULL: "comparisons" */
    int64_t checked;
    int64_t wrong;
    char first[240];
};

/* Counts a comparison that failed, and keeps the words if it is the first. `checked` is counted by
   the caller. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_comparisons_wrong(struct hc_comparisons *c, const char *format, ...);

/* Claims that none failed; claims nothing where none was made. */
void hc_claim_comparisons(struct hc_check *check, const struct hc_comparisons *c);

/* The same with words that are there already: `first` is NULL if none failed. */
void hc_claim_sweep(struct hc_check *check, const char *what, int64_t checked, int64_t wrong,
                    const char *first);

/* Elements of an output, judged one by one, and the one that is the farthest beyond its bound, or
   came nearest to it. */
struct hc_judged_elements {
    const char *what; /* the output's name */
    int64_t checked;
    int64_t of; /* so many elements */
    int64_t wrong;
    int64_t index; /* of that one */
    double want;
    double got;
    double error;
    double bound; /* below error if and only if it is wrong */
    double line;  /* the largest error in units of what independent roundings come to; NaN: none */
};

/* Claims that none of them is wrong. */
void hc_claim_judged(struct hc_check *check, const struct hc_judged_elements *judged);

/* What is known of the inputs of a call. */
enum hc_inputs {
    HC_INPUTS_ANY,
    /* The inputs are independent and have random bits, so that rounding errors are independent,
       too: sums have a second, tighter line (check/bound/line.h). */
    HC_INPUTS_RANDOM,
    /* The sums stand still, because their terms are too small for them. */
    HC_INPUTS_STAGNANT,
    /* No sum is rounded before its end: the results are settled to the bit. */
    HC_INPUTS_WHOLE,
};

/* Makes all claims of another case as well, on the same backend and from that case's own seed. They
   are told as one claim by the other's name; its story and its pictures are left out. The other
   case is neither `once` nor `against_exact`. */
void hc_claim_case(struct hc_check *check, const struct hc_case *other);

/* Runs the call once on the backend under test, as hc_do does, and claims that its outputs are
   right: each is compared with the reference under the bound of check/bound/bound.h (every element
   of a small output, a seeded sample of a large one), and all elements with the backend `exact`.
   Returns the status of the run: the outputs are there if it is HC_OK, whether or not the claim
   held. */
enum hc_status hc_claim_call(struct hc_check *check, const struct hc_call *call);

/* The same, given what is known of the inputs. */
enum hc_status hc_claim_call_on(struct hc_check *check, const struct hc_call *call,
                                enum hc_inputs inputs);

/* The same for a call whose inputs were not made to exercise the op but came out of calls before
   it: small outputs that need no rounding do not make the case MISTRUSTED. */
enum hc_status hc_claim_call_met(struct hc_check *check, const struct hc_call *call);

/* Runs the call on the backend under test and on `exact`, each with outputs of its own, and claims
   that all elements have the same bits, NaN for NaN. `what` names the inputs. False if there was
   nothing to compare; then the verdict is set. It is for cases that are `against_exact`. */
bool hc_claim_exact_bits(struct hc_check *check, const char *what, const struct hc_call *call);

/* The sum to which the case adds the digests of calls that it runs by other means than hc_do, one
   thread at a time (struct hc_device, struct hc_train_options). NULL if the result is to have no
   digest (check/digest.h): the tensors do not lie in host memory, or the bits are not promised. */
uint64_t *hc_check_digest(struct hc_check *check);

/* Says that the case runs kernels whose bits nobody digests, so that its result has no digest. */
void hc_check_undigested(struct hc_check *check);

/* Says that the case runs calls in that arithmetic, which no claim of theirs has said, and makes
   claims about the results. A backend of free order may take a finer one; if a claim fails there,
   the case is left out (check/free_order.h). */
void hc_note_arithmetic(struct hc_check *check, enum hc_format arithmetic);

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

/* A picture without points; and a point of one of its series, from left to right. The record keeps
   at most HC_SERIES_POINTS points of a series, evenly spread, and the last one. Pictures claim
   nothing. The name of a series lives as long as the program. */
struct hc_picture *hc_picture_new(struct hc_check *check, const struct hc_frame *frame);
void hc_point(struct hc_check *check, struct hc_picture *picture, const char *series, double x,
              double y);

/* Sets the verdict SKIPPED or MISTRUSTED with that reason, unless a claim has failed already. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_skip(struct hc_check *check, const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_mistrust(struct hc_check *check, const char *format, ...);

/* Whether status is HC_OK; if not, sets the verdict UNIMPLEMENTED (HC_UNSUPPORTED) or ERROR (any
   other) with hc_message(). */
bool hc_check_ok(struct hc_check *check, enum hc_status status);

/* Whether nothing is compared (check/digest.h), so that nothing need be computed for a claim. */
bool hc_check_bits_only(const struct hc_check *check);

/* Whether a call could not be run, so that claims are ignored from now on. */
bool hc_check_is_cut(const struct hc_check *check);

/* Sets the verdict ERROR with hc_message(). */
void hc_check_failed(struct hc_check *check);

/* A note for readers of the result though every claim holds; it does not replace the words of a
   failure before it. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_remark(struct hc_check *check, const char *format, ...);

/* Prints a line in `halfcheck explain`; does nothing elsewhere. These lines are the story of the
   case: all stand before its claims, which become a table, so none can be a heading for claims.
   Some 20 lines of at most 77 columns fit on a screen. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_say(struct hc_check *check, const char *format, ...);

#endif

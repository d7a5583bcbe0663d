/* What a comparison of two records finds. Findings are kept until all are there. Then they are
   sorted into families of cases, so that whoever tells them (text, JSON, JUnit, a page) begins with
   what matters most, and can tell thousands that are alike in a line. */
#ifndef HC_CLI_GATE_FINDINGS_H
#define HC_CLI_GATE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "op/typed.h"

/* What a finding means for the exit status. They are told in this order. */
enum hc_findings_group {
    HC_FOUND_WORSE,   /* status 1 */
    HC_FOUND_CHANGED, /* but not worse */
    HC_FOUND_BETTER,
    HC_FOUND_NEW,
    HC_FOUND_NOT_COMPARABLE, /* status 1: nobody knows */
    HC_FOUND_GROUPS
};

/* "worse", "changed", "better", "new", "not comparable". */
extern const char *const hc_findings_group_names[HC_FOUND_GROUPS];

enum hc_finding_kind {
    HC_FINDING_VERDICT,
    HC_FINDING_ERROR,
    HC_FINDING_BOUND,
    HC_FINDING_CHECKED,
    HC_FINDING_BITS,        /* a result that is promised bit by bit has others */
    HC_FINDING_TRAINING,    /* a recipe trains worse */
    HC_FINDING_EPOCHS,      /* it takes longer to a target */
    HC_FINDING_DRIFT,       /* its gradients, or what explains them, are further off */
    HC_FINDING_FINGERPRINT, /* gemm sums otherwise than before */
    HC_FINDING_MISSING,
    HC_FINDING_CHANGED,
    HC_FINDING_BETTER,
    HC_FINDING_NEW,
    HC_FINDING_SEED,
    HC_FINDING_SETTINGS, /* trained otherwise: data, network, epochs, batch, rate */
    HC_FINDING_SEEDS,    /* too few of them for an answer */
    HC_FINDING_LEVEL,
    HC_FINDING_UNIT,
    HC_FINDING_MACHINE,
    HC_FINDING_VERSION, /* of halfcheck or of a library */
    HC_FINDING_DIGEST,  /* there is none to compare with */
    HC_FINDING_UNKNOWN,
    HC_FINDING_KINDS
};

struct hc_finding_kind_row {
    const char *name; /* as in a file of allowances */
    enum hc_findings_group group;
    bool by_reason;  /* findings with the same text are told once; otherwise each has its numbers */
    bool short_form; /* the option --allow takes it, which says neither why nor until when */
};
extern const struct hc_finding_kind_row hc_finding_kinds[HC_FINDING_KINDS];

struct hc_allowance; /* cli/gate/allowances.h */

struct hc_finding {
    enum hc_finding_kind kind;
    char *name;    /* of a case, or of a recipe or layer that is compared as one */
    char *backend; /* "" if there is none */
    char *text;
    char *repro;                        /* the command that repeats the result, or "" */
    double weight;                      /* among its kind; the heaviest is told first */
    const struct hc_allowance *allowed; /* by which one, NULL: by none */
    const struct hc_allowance *expired; /* which one would allow it, but has expired */

    size_t family; /* how many letters of the name are the family's; set by hc_findings_sort */
    double family_weight;
    int family_count;
    int reason_count;
};

struct hc_findings {
    struct hc_finding *all;
    int count;
    int room;       /* capacity */
    bool no_memory; /* there was no memory to keep one */
};

/* Adds a finding, and copies its texts; or sets `no_memory`. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void hc_findings_add(struct hc_findings *findings, enum hc_finding_kind kind, const char *name,
                     const char *backend, const char *format, ...);

/* Says of the finding that was added last how heavy it is (0 if nobody says; a NaN weighs most) and
   how to repeat it. */
void hc_findings_weigh(struct hc_findings *findings, double weight, const char *repro);

/* Sorts them: what is not allowed first, by group, kind, reason and family, the heaviest and
   largest family first. Call it when all are there. */
void hc_findings_sort(struct hc_findings *findings);

/* Findings of one kind about one family of cases, on any backends. */
struct hc_family {
    enum hc_findings_group group;
    enum hc_finding_kind kind;
    const struct hc_allowance *allowed;
    const char *reason;             /* the text of all of them; NULL where each has its own */
    char name[HC_LONGEST_NAME + 1]; /* "op", "op/gemm", or the name of the only case */
    const struct hc_finding *all;   /* the heaviest first */
    int count;
};

/* The next family; the first one after (struct hc_family){0}. Returns false behind the last one.
   The findings must have been sorted. */
bool hc_findings_next(const struct hc_findings *findings, struct hc_family *family);

/* "exact 12, host 3", or "exact, host" where there is one on each: how many of a family are on
   which backend. */
void hc_family_backends(const struct hc_family *family, char *text, size_t bytes);

/* How many of a group are not allowed; of all groups, how many are. */
int hc_findings_count(const struct hc_findings *findings, enum hc_findings_group group);
int hc_findings_allowed(const struct hc_findings *findings);

/* "2 bound, 1 verdict": the same by kind. */
void hc_findings_say(const struct hc_findings *findings, enum hc_findings_group group, char *text,
                     size_t bytes);

void hc_findings_free(struct hc_findings *findings);

#endif

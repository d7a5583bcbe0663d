/* What a run leaves out for a backend, counted: cases that need an op which a partial backend has
   no kernel for, or fp64 where the backend has none; cases whose call its kernel refused
   (HC_UNSUPPORTED); cases that state an order to which a backend of free order is not held
   (check/free_order.h); and cases that would pass though no call of theirs reached the program that
   is judged (kernels/own_calls.h). They make no results, but the run says how many there are: a run
   is green only for what has run. */
#ifndef HC_CHECK_OMISSIONS_H
#define HC_CHECK_OMISSIONS_H

#include "check/check.h"
#include "op/typed.h"

enum hc_omitted {
    HC_OMITTED_ABSENT,  /* no kernel, or none in fp64 */
    HC_OMITTED_REFUSED, /* the kernel said HC_UNSUPPORTED */
    HC_OMITTED_ORDER,   /* it states an order */
    HC_OMITTED_UNASKED, /* it made no call that reached the program that is judged */
    HC_OMITTED_KINDS
};

/* The cases of one component that were left out for one backend. */
struct hc_omission {
    const char *backend;
    char component[32];
    int count[HC_OMITTED_KINDS];
    char why[HC_OMITTED_KINDS][320];                   /* of the first of each kind */
    char first[HC_OMITTED_KINDS][HC_LONGEST_NAME + 1]; /* the name of its case */
};

/* What calls have in common. A kernel may take some formats and refuse others, and some shapes or
   parameters. It must take or refuse together the calls that differ only in the numbers of their
   tensors: a kernel that looks at the numbers first may refuse whatever it would get wrong. */
enum hc_alike {
    HC_ALIKE_FORMATS,     /* op and formats */
    HC_ALIKE_BUT_NUMBERS, /* op, formats, shapes, parameters, and which tensors are one */
};

struct hc_alike_calls {
    const char *backend;
    enum hc_alike alike;
    uint64_t key;
    int64_t taken;
    int64_t refused;
    const struct hc_case *taker;   /* the first case by name with a call that was taken, or NULL */
    const struct hc_case *refuser; /* and with one that was refused */
    char *why;                     /* of that refusal, or NULL */
};

struct hc_omissions {
    struct hc_omission *row;
    int count;
    int room;
    struct hc_alike_calls *set;
    int set_count;
    int set_room;
    int *place; /* by the hash of a set's key: its number + 1, or 0; twice set_room of them */
    bool lost;  /* there was no memory to count one */
};

/* Counts a case that was left out. */
void hc_omissions_add(struct hc_omissions *all, const struct hc_result *result,
                      enum hc_omitted kind);

/* Adds what another process has counted of the same run. The reasons are those of the first cases,
   by name. */
void hc_omissions_join(struct hc_omissions *all, const struct hc_omission *omission);
void hc_omissions_join_calls(struct hc_omissions *all, const struct hc_alike_calls *set);

/* Whether it is one of the backends that are built in, and no copy of one. */
bool hc_is_built_in(const struct hc_backend *backend);

/* Whether the backend's calls are counted: of those that are built in only the partial ones refuse
   any. */
bool hc_omissions_counts_calls(const struct hc_backend *backend);

/* Counts a call that a backend's kernel took or refused in a case. Several threads may do
   so at once. */
void hc_omissions_call(struct hc_omissions *all, const char *backend, const struct hc_case *what,
                       const struct hc_call *call, bool taken);

/* Sets the verdict of a case that passed without a call of the program that is judged; does nothing
   on a backend whose own calls are not counted. */
void hc_omit_unasked(struct hc_check *check);

/* How many cases of a row were left out; and of all rows of a backend (NULL: of all). */
int hc_omission_total(const struct hc_omission *omission);

/* "3 without a kernel, 1 refused, 2 of another order, 1 without a call", and the first reason. */
void hc_omission_counts(const struct hc_omission *omission, char *text, size_t size);
const char *hc_omission_why(const struct hc_omission *omission);
int hc_omissions_count(const struct hc_omissions *all, const char *backend);

/* The next set of such calls, from *i on, of which some were taken and others refused; NULL if
   there are no more. A partial backend says by its kernels which formats it takes; a call in those
   that it refuses for another reason is worth a look. */
const struct hc_alike_calls *hc_omissions_fickle(const struct hc_omissions *all,
                                                 enum hc_alike alike, int *i);

/* The result of the case that was refused, where a kernel refuses calls by their numbers: a FAIL.
   `set` is of HC_ALIKE_BUT_NUMBERS, and fickle. The case is no longer counted as left out. */
struct hc_result hc_omissions_by_value(struct hc_omissions *all, const struct hc_alike_calls *set,
                                       uint64_t seed);

void hc_omissions_free(struct hc_omissions *all);

#endif

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

/* Calls of one op on tensors of the same formats. */
struct hc_call_formats {
    const char *backend;
    uint64_t key;
    int64_t taken;
    int64_t refused;
    char why[320]; /* of the first refusal */
};

struct hc_omissions {
    struct hc_omission *row;
    int count;
    int room;
    struct hc_call_formats *set;
    int set_count;
    int set_room;
    bool lost; /* there was no memory to count one */
};

/* Counts a case that was left out. */
void hc_omissions_add(struct hc_omissions *all, const struct hc_result *result,
                      enum hc_omitted kind);

/* Adds what another process has counted of the same run. The reasons are those of the first cases,
   by name. */
void hc_omissions_join(struct hc_omissions *all, const struct hc_omission *omission);
void hc_omissions_join_calls(struct hc_omissions *all, const struct hc_call_formats *set);

/* Counts a call that a partial backend's kernel took or refused. Several threads may do so at
   once. */
void hc_omissions_call(struct hc_omissions *all, const char *backend, const struct hc_call *call,
                       bool taken);

/* Sets the verdict of a case that passed without a call of the program that is judged; does nothing
   on a backend whose own calls are not counted. */
void hc_omit_unasked(struct hc_check *check);

/* How many cases of a row were left out; and of all rows of a backend (NULL: of all). */
int hc_omission_total(const struct hc_omission *omission);

/* "3 without a kernel, 1 refused, 2 of another order, 1 without a call", and the first reason. */
void hc_omission_counts(const struct hc_omission *omission, char *text, size_t size);
const char *hc_omission_why(const struct hc_omission *omission);
int hc_omissions_count(const struct hc_omissions *all, const char *backend);

/* The next set of formats, from *i on, of which some calls were taken and others refused; NULL if
   there are no more. A partial backend says by its kernels which formats it takes; a call in those
   that it refuses for another reason is worth a look. */
const struct hc_call_formats *hc_omissions_fickle(const struct hc_omissions *all, int *i);

void hc_omissions_free(struct hc_omissions *all);

#endif

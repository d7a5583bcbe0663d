/* What a run leaves out for a backend, counted: cases that need an op which a partial backend has
   no kernel for, or fp64 where it has none, and cases whose call its kernel refused
   (HC_UNSUPPORTED). They make no results, and are said nevertheless: green is only what has run. */
#ifndef HC_CHECK_OMISSIONS_H
#define HC_CHECK_OMISSIONS_H

#include "check/check.h"

/* The cases of one component that were left out for one backend. */
struct hc_omission {
    const char *backend;
    char component[32];
    int absent;    /* no kernel, or none in fp64 */
    int refused;   /* the kernel said HC_UNSUPPORTED */
    char why[320]; /* of the first of them */
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

/* A case that was left out, `refused` as above. */
void hc_omissions_add(struct hc_omissions *all, const struct hc_result *result, bool refused);

/* A call that a partial backend's kernel took or refused. Several threads may say so at once. */
void hc_omissions_call(struct hc_omissions *all, const char *backend, const struct hc_call *call,
                       bool taken);

/* Of a backend (NULL: of all): the cases that were left out. */
int hc_omissions_count(const struct hc_omissions *all, const char *backend);

/* The next set of formats from *i on of which calls were taken and others refused; NULL: no more. A
   partial backend says by its kernels which formats it does; what it refuses in those, it should
   do. */
const struct hc_call_formats *hc_omissions_fickle(const struct hc_omissions *all, int *i);

void hc_omissions_free(struct hc_omissions *all);

#endif

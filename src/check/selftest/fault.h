/* Planted faults: whether the cases would catch a wrong kernel.

   A test that has never failed proves little: it may compare a thing with itself, use inputs on
   which right and wrong agree, or have a bound that nothing comes near. So faults are planted on
   purpose. A fault is a row of data: a backend, of which some ops are wrong in one stated way, and
   the cases of which at least one must catch it. `halfcheck selftest` plants every fault, one at a
   time, in a process of its own (hunt.h), and fails if one survives.

   A fault is caught by a case that shows the verdict which the row asks for, and that passes
   without the fault. The faults are of classes (rounding, tail, accumulator, ...), which are
   modelled on defects that kernels have had. What the selftest cannot show is that a defect of
   another kind would be caught. */
#ifndef HC_CHECK_SELFTEST_FAULT_H
#define HC_CHECK_SELFTEST_FAULT_H

#include "check/check.h"

/* What kind of thing goes wrong. `halfcheck selftest` counts by it. */
enum hc_fault_class {
    HC_FAULT_ROUNDING,
    HC_FAULT_SPECIALS,
    HC_FAULT_TAIL,
    HC_FAULT_BORDER,
    HC_FAULT_SPARSE,
    HC_FAULT_ACCUMULATOR,
    HC_FAULT_UNIT,
    HC_FAULT_FORMULA,
    HC_FAULT_PARAMETER,
    HC_FAULT_IN_PLACE,
    HC_FAULT_INPUTS,
    HC_FAULT_OUTSIDE,
    HC_FAULT_STATE,
    HC_FAULT_COMMON,
    HC_FAULT_STOCHASTIC,
    HC_FAULT_SCALER,
    HC_FAULT_SKIP,
    HC_FAULT_DATA,
    HC_FAULT_TRAINER,
    HC_FAULT_RANKS,
    HC_FAULT_CHEAT,
    HC_FAULT_CLASSES
};

struct hc_fault_class_info {
    const char *name;
    const char *title; /* what faults of this class do, one sentence */
};

extern const struct hc_fault_class_info hc_fault_classes[HC_FAULT_CLASSES];

/* Where it is planted. Cases compare the backend under test (the subject) with `exact`. A fault
   that both of them have can be seen only by MPFR, by integers and by published answers. */
enum hc_fault_place {
    HC_PLACE_EXACT, /* the subject is `exact` with the fault, beside a sound `exact` */
    HC_PLACE_HOST,  /* the subject is `host` with the fault, beside a sound `exact` */
    HC_PLACE_BOTH,  /* the subject is `host`, and it and `exact` have the same fault */
    HC_PLACES
};

extern const char *const hc_fault_places[HC_PLACES];

struct hc_fault;
struct hc_change; /* check/selftest/change.h */
struct hc_changed_parameter;

/* What a wrong kernel gets besides its call: the sound kernel of the same op in the backend that
   runs, its fault, and the queue. */
struct hc_fault_site {
    hc_kernel *right;
    const struct hc_fault *fault;
    struct hc_queue *queue;
};

/* A wrong kernel. Tensors lie in host memory. */
typedef enum hc_status hc_wrong(const struct hc_fault_site *site, const struct hc_call *call);

/* Runs a call on the sound kernel. */
static inline enum hc_status hc_right(const struct hc_fault_site *site, const struct hc_call *call)
{
    return site->right(site->queue, call);
}

struct hc_fault {
    const char *name;
    const char *title; /* the defect, one sentence */
    enum hc_fault_class class_;
    const char *ops;      /* globs over the names of the ops that are wrong, with spaces between */
    const char *patterns; /* globs over cases; of each glob at least one case must catch it */
    enum hc_fault_place place;
    const char *backend; /* NULL; or the subject is the backend of that name, whatever `place` */

    /* What goes wrong in these ops: one of these, or none where `rebuild` is all. */
    hc_wrong *wrong; /* a kernel that replaces the sound one */
    /* Spoils what the sound kernel gave. The call's inputs are as they were before. */
    void (*after)(const struct hc_call *call);
    void (*after_by)(const struct hc_call *call, const struct hc_fault *row);
    /* The sound kernel gets the call as this makes it; the call's inputs are copies. */
    void (*change)(struct hc_call *call);
    void (*change_by)(struct hc_call *call, const struct hc_fault *row);
    double number;                                /* for rows that share a function, */
    const void *data;                             /* and what a number cannot say */
    const struct hc_changed_parameter *parameter; /* the sound kernel gets another parameter */
    const struct hc_change *inputs;  /* the sound kernel gets copies of inputs, so changed */
    const struct hc_change *outputs; /* the sound kernel's outputs are so changed */
    const char *like;                /* the defect of the row with that name, in another place */

    /* Changes more of the subject than its kernels: its memory, or what it says of itself. `faulty`
       has its wrong kernels already. May be NULL. */
    void (*rebuild)(struct hc_backend *faulty);
    enum hc_verdict shown; /* the verdict that catches it; 0: HC_FAIL */
    bool crashes;          /* it is also caught if the program crashes */
};

/* Runs a call as the fault has it. */
enum hc_status hc_fault_run(const struct hc_fault_site *site, const struct hc_call *call);

/* What a file of check/faults/ exports, as hc_faults_<file>. Its rows stand in <file>.def. */
struct hc_fault_table {
    const struct hc_fault *faults;
    int count;
};

/* The last line of such a file: exports its rows to the registry. `name` is the file's. */
#define HC_FAULTS(name, rows)                                                                      \
    extern const struct hc_fault_table hc_faults_##name;                                           \
    const struct hc_fault_table hc_faults_##name = {rows, sizeof(rows) / sizeof(rows)[0]}

/* All faults, file by file; by name, or NULL. */
int hc_fault_count(void);
const struct hc_fault *hc_fault_at(int i);
const struct hc_fault *hc_fault_by_name(const char *name);

/* The name of the backend in which the fault is planted. */
const char *hc_fault_home(const struct hc_fault *fault);

/* Whether the fault makes that op wrong. */
bool hc_fault_concerns(const struct hc_fault *fault, enum hc_op op);

/* Word i of a fault's globs. False when there are no more. */
enum { HC_GLOB = 64 };
bool hc_fault_glob(const char *globs, int i, char glob[HC_GLOB]);

/* The two backends of a run with the fault: what it runs on, named "exact+<fault>" or
   "host+<fault>", and what it takes for `exact`. */
struct hc_fault_backends {
    const struct hc_backend *subject;
    const struct hc_backend *exact;
};

/* Plants the fault. One at a time: a kernel gets a queue and a call and nothing else, so the fault
   that it is to show stands in static memory (fault.c), which the next call overwrites. */
struct hc_fault_backends hc_fault_plant(const struct hc_fault *fault);

/* A copy of a host-memory backend with the fault in it, whatever its place. It replaces the subject
   of hc_fault_plant. */
const struct hc_backend *hc_faulty_backend(const struct hc_backend *sound,
                                           const struct hc_fault *fault);

/* A copy of `exact` with the fault in it, for a case that plants faults itself: it replaces nothing
   that hc_fault_plant made, only the copy before it. */
const struct hc_backend *hc_fault_within_case(const struct hc_fault *fault);

#endif

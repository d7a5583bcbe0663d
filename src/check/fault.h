/* Planted defects: a backend whose op is wrong in one stated way. */
#ifndef HC_CHECK_FAULT_H
#define HC_CHECK_FAULT_H

#include "backend.h"

struct hc_fault {
    const char *name;
    const char *title;   /* the defect, one sentence */
    const char *pattern; /* the cases that must catch it, a glob */
    enum hc_op op;
    /* Runs the op wrongly; `right` is the sound kernel. Tensors lie in host memory. */
    enum hc_status (*wrong)(hc_kernel *right, struct hc_queue *queue, const struct hc_call *call);
};

/* What a file of check/faults/ exports, as hc_faults_<file>. */
struct hc_fault_table {
    const struct hc_fault *faults;
    int count;
};

/* All faults; by name, or NULL. */
const struct hc_fault *const *hc_all_faults(int *n);
const struct hc_fault *hc_fault_by_name(const char *name);

/* A copy of a host-memory backend with the fault in it, named "exact+<fault>". One at a time: the copy is static, and the
   next call replaces it. */
const struct hc_backend *hc_faulty_backend(const struct hc_backend *sound,
                                           const struct hc_fault *fault);

#endif

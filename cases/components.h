/* What the cases of each component claim, in a line. A component is the first word of a case's
   name. */
#ifndef HC_CASES_COMPONENTS_H
#define HC_CASES_COMPONENTS_H

/* NULL for a component that is not one of these, such as a plug-in's. */
const char *hc_component_claims(const char *component);

/* The mechanisms of the reports from the field, and the planted faults of the same mechanism.

   A row field/<mechanism>/<slug> shows a bug on a few numbers, or drives a training with it. What
   it does not show is whether halfcheck would find the bug in a component. So the row names a
   planted fault: the same mechanism inside of an op, which the component's own cases must catch. */

enum { HC_MECHANISM_FAULTS = 8 };

struct hc_mechanism {
    char name[48];
    int rows;
    const char *faults[HC_MECHANISM_FAULTS + 1]; /* each once, as rows name them; then NULL */
};

/* All mechanisms by name, and their number in *n. They stay until the next call. */
const struct hc_mechanism *hc_mechanisms(int *n);

#endif

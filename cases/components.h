/* What the cases of each component claim, in a line. A component is the first word of a case's
   name. */
#ifndef HC_CASES_COMPONENTS_H
#define HC_CASES_COMPONENTS_H

/* NULL for a component that is not one of these, such as a plug-in's. */
const char *hc_component_claims(const char *component);

#endif

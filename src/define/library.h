/* The library of definitions (definitions/), as texts in the program. */
#ifndef HC_DEFINE_LIBRARY_H
#define HC_DEFINE_LIBRARY_H

struct hc_library_text {
    const char *name; /* "rms_norm" */
    const char *text;
};

/* In alphabetical order; the last row has a NULL name. */
extern const struct hc_library_text hc_library[];

/* The text of a definition, or NULL. */
const char *hc_library_find(const char *name);

#endif

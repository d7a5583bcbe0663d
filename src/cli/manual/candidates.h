/* What may stand in place of a word that is being typed. */
#ifndef HC_CLI_MANUAL_CANDIDATES_H
#define HC_CLI_MANUAL_CANDIDATES_H

#include <stddef.h>

/* Names are offered like files: up to the next slash, as cases/ stands for all cases below it. */
struct hc_candidates {
    const char *typed; /* the word, as far as it is typed */
    size_t kept;       /* bytes of it that stay: "--backend=exact,"; names replace the rest */
    const char *kind;  /* what the shell adds of its own: "names" (nothing), "files", "folders" */
    char **groups;     /* offered so far, which end in a slash */
    int group_count;
};

/* Offers a name if it begins as the word does. `prefix` belongs to the name. */
void hc_candidate_offer(struct hc_candidates *candidates, const char *prefix, const char *name,
                        const char *title);

/* Offers what a placeholder of the help stands for: "B[,B]", "[SLOT=]FILE", "CASE|SLUG|op/NAME".
   `command` is the command's name. */
void hc_candidate_offer_all(struct hc_candidates *candidates, const char *command,
                            const char *placeholder);

void hc_candidates_free(struct hc_candidates *candidates);

#endif

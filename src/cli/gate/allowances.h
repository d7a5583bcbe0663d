/* What a team accepts for a while: a small text file beside the baseline, one allowance a line:
     PATTERN  KIND  until YYYY-MM-DD  REASON...
   PATTERN chooses cases as patterns of `run` do; behind an @ may stand a glob over backends. KIND
   is a kind of finding. The reason and the date must be there: one that nobody can explain, or
   that never ends, hides the next fault. Empty lines and lines that begin with # do not
   count. */
#ifndef HC_CLI_GATE_ALLOWANCES_H
#define HC_CLI_GATE_ALLOWANCES_H

#include "check/record/record.h"
#include "cli/command.h"
#include "cli/gate/findings.h"

/* A date as a number that compares like it: 20261122. */
typedef int hc_date;

/* Today's date in UTC. */
hc_date hc_date_today(void);

/* The date that a text "2026-11-22" names, 0 if it names none. */
hc_date hc_date_read(const char *text);

/* Writes it as it is read. */
enum { HC_DATE_TEXT = 16 };
void hc_date_write(hc_date day, char text[HC_DATE_TEXT]);

/* A glob of more stars than people write may take for ever. */
enum { HC_ALLOWANCE_PATTERN = 200 };

struct hc_allowance {
    char *pattern;
    enum hc_finding_kind kind;
    hc_date until; /* the last day on which it allows; 0: there is none */
    char *reason;
    int line; /* of its file; 0: the option --allow */
    bool expired;
    int used; /* how many findings it allows, or would allow if it had not expired */
};

struct hc_allowances {
    char *path; /* of their file, NULL: none */
    struct hc_allowance *all;
    int count;
};

/* The same for a file's text, which messages call `path`. */
enum hc_status hc_allowances_parse(struct hc_allowances *allowances, const char *path,
                                   const char *text, size_t bytes, hc_date today);

/* The same for the file that goes with a baseline: `file`, or if that is NULL the one beside it, if
   there is one: the baseline's name and .allow. */
enum hc_status hc_allowances_read_for(struct hc_allowances *allowances, const char *baseline,
                                      const char *file, hc_date today);

/* Adds those of the option --allow, which takes only kinds that could not be compared. */
enum hc_status hc_allowances_take(struct hc_allowances *allowances, const struct hc_words *kinds);

/* HC_INVALID, with a line, if one's pattern matches no result and no fingerprint of either record,
   and no finding. */
enum hc_status hc_allowances_check(const struct hc_allowances *allowances,
                                   const struct hc_record *baseline, const struct hc_record *record,
                                   const struct hc_findings *findings);

/* Whether its pattern matches a case on a backend. */
bool hc_allowance_matches(const struct hc_allowance *allowance, const char *name,
                          const char *backend);

/* Marks the findings that are allowed, or were until they expired. Call it once, before they are
   sorted. */
void hc_allowances_apply(struct hc_allowances *allowances, struct hc_findings *findings);

void hc_allowances_free(struct hc_allowances *allowances);

#endif

/* The comparison of a record with a baseline, of whatever kind of measurement both have: results of
   cases, trainings, drift. */
#ifndef HC_CLI_GATE_GATE_H
#define HC_CLI_GATE_GATE_H

#include <stdio.h>

#include "check/record/record.h"
#include "cli/gate/allowances.h"
#include "cli/gate/findings.h"

/* A difference between the machines or their software, which may be the reason of the others. The
   texts are JSON ("null", "\"gcc 12\""). */
struct hc_gate_change {
    const char *part; /* of a merged record, or a backend; "" */
    const char *key;  /* "cpu" */
    char *was;
    char *is;
};

/* What was compared by statistics, and how, for each recipe, whatever the result. */
struct hc_gate_note {
    bool alone;       /* no finding says it */
    const char *word; /* the answer: "identical", "equivalent", ...; static */
    char *name;
    char *backend;
    char *text;
};

struct hc_gate {
    /* What the caller sets. */
    const struct hc_record *baseline;
    const struct hc_record *record;
    const char *const *patterns; /* globs over case names; only these are compared */
    int pattern_count;           /* 0: all */
    double growth;               /* how many times the baseline's error an error may be */
    double margin;               /* of trainings, in points of accuracy; 0: HC_GATE_MARGIN */
    double level;                /* of each of the two tests of trainings; 0: 5 % */
    const char *protocol;        /* the file by which trainings are judged, or NULL */
    double target; /* the accuracy to which epochs are counted, in percent; 0: the baseline's */
    struct hc_allowances allowances;

    /* What the comparison sets. */
    struct hc_findings findings;
    struct hc_gate_change *changes;
    int change_count;
    struct hc_gate_note *notes;
    int note_count;
    int compared;  /* results, recipes or layers that both have; if there is none, nothing passes */
    int judged;    /* of them, those that the record does not only name; likewise */
    int same;      /* of these, those about which nothing was found */
    int still_bad; /* of these, those that are FAIL or ERROR */
    int fingerprints[2]; /* the record's and the baseline's, if the patterns choose nothing else;
                            they are among those compared then */
};

enum { HC_GATE_GROWTH = 2 }; /* which is one bit of the headroom */

/* The margin of trainings. */
#define HC_GATE_MARGIN 0.5

/* One way to compare two records. They are tried in the order of a table in gate.c. */
struct hc_gate_way {
    /* Whether the records have something to compare in this way. */
    bool (*applies)(const struct hc_gate *gate);

    /* Whether it judges this result, which then is not compared by itself. NULL: none. */
    bool (*owns)(const struct hc_row *row);

    /* Adds the findings. HC_NO_MEMORY, or HC_INVALID with a line if a record cannot be
       understood. */
    enum hc_status (*compare)(struct hc_gate *gate);
};

/* The ways there are: fingerprints, trainings, drift (each says in its file what it finds), and the
   results that none of these owns. */
extern const struct hc_gate_way hc_gate_fingerprint;
extern const struct hc_gate_way hc_gate_training;
extern const struct hc_gate_way hc_gate_drift;
extern const struct hc_gate_way hc_gate_rows;

/* Adds all findings, applies the allowances and sorts. HC_NO_MEMORY; HC_INVALID with a line that
   says what is wrong. */
enum hc_status hc_gate_compare(struct hc_gate *gate);

/* HC_INVALID, with a line, for a record that was cut short, lacks shards or has a planted fault: it
   is evidence of nothing. */
enum hc_status hc_gate_check_whole(const char *path, const struct hc_record *record);

/* Adds a note, or sets findings.no_memory. A note without a word says what a finding says, too. */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void hc_gate_note(struct hc_gate *gate, const char *word, const char *name, const char *backend,
                  const char *format, ...);

void hc_gate_notes_free(struct hc_gate *gate);

/* HC_INVALID, with a line, if a pattern chooses no result and no fingerprint of either record, and
   nothing that was found or noted. Ask after the comparison. */
enum hc_status hc_gate_check_patterns(const struct hc_gate *gate);

/* Whether the patterns choose a case. */
bool hc_gate_chooses(const struct hc_gate *gate, const char *name);

/* Whether a way that applies owns the row. */
bool hc_gate_is_owned(const struct hc_gate *gate, const struct hc_row *row);

/* Whether one of the record's fingerprints, "fingerprint/fp16" of "cuda", fits. */
bool hc_gate_has_fingerprint(const struct hc_record *record,
                             bool (*fits)(const void *what, const char *name, const char *backend),
                             const void *what);

/* Frees what the comparison has set, and the allowances. */
void hc_gate_free(struct hc_gate *gate);

/* What the gate prints. */

/* Prints the differences of machines, the findings, the allowances that need somebody, and the
   counts; every finding if `every` is set. */
void hc_gate_print(FILE *out, const struct hc_gate *gate, bool every);

/* Prints the last line: "PASS: REASON". */
void hc_gate_print_verdict(FILE *out, bool passes, const char *reason);

/* Findings as text for a terminal of 80 columns. */

/* Prints a text of anybody in lines of 80 columns that begin at `column` (op/wrap.h). It is safe on
   a terminal, and in the log of a CI that takes commands from there. */
void hc_findings_print_text(FILE *out, int column, int indent, const char *text);

/* The gate's findings for programs: a JSON document, JUnit's XML, and what GitHub shows beside a
   change. What comes from a record (names, texts, notes, paths) is data of anybody, and is escaped
   for each. */

/* What the documents call the two sides. */
struct hc_gate_paths {
    const char *baseline;
    const char *record;
};

/* The document
     {"schema": 1, "verdict": "PASS", "reason": "...", "baseline": "...", "record": "...",
      "patterns": [], "growth": "0x1p+1", "counts": {"worse": 0, ...},
      "changes": [{"part", "key", "was", "is"}, ...],
      "findings": [{"group", "kind", "family", "case", "backend", "text", "repro",
                    "allowed": null, "expired": null}, ...],
      "notes": [{"name", "backend", "text"}, ...],
      "allowances": [{"file", "line", "pattern", "kind", "until", "reason", "expired",
                      "findings"}, ...]}
   "-" is standard output. HC_IO; HC_NO_MEMORY. */
enum hc_status hc_gate_json(const struct hc_gate *gate, const struct hc_gate_paths *paths,
                            const char *file);

/* A test case for each family of findings, and one for the gate as a whole. */
enum hc_status hc_gate_junit(const struct hc_gate *gate, const struct hc_gate_paths *paths,
                             const char *file);

/* Prints workflow commands that annotate a change: one for each family that fails the gate, at most
   ten, the last of which counts the others; a warning for each allowance that has expired or allows
   nothing. */
void hc_gate_annotate(FILE *out, const struct hc_gate *gate, const struct hc_gate_paths *paths);

/* Appends a summary in Markdown to a file. HC_IO; HC_NO_MEMORY. */
enum hc_status hc_gate_summarize(const struct hc_gate *gate, const struct hc_gate_paths *paths,
                                 const char *file);

#endif

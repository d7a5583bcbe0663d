/* The gate's findings for programs: a JSON document, JUnit's XML, and what GitHub shows beside a
   change. What comes from a record (names, texts, notes, paths) is data of anybody, and is escaped
   for each. */
#ifndef HC_CLI_GATE_GATE_FILES_H
#define HC_CLI_GATE_GATE_FILES_H

#include "cli/gate/gate.h"

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

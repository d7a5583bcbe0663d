/* What judge-step prints. */
#ifndef HC_CLI_JUDGE_STEP_TELL_H
#define HC_CLI_JUDGE_STEP_TELL_H

#include "cli/judge_step/claim.h"

/* Prints the table, a line for each stage of a layer or, with `all`, for each claim, and the
   sentences behind it; writes the document to `json`, if that is not NULL. One of enum hc_exit. */
int hc_step_tell(const struct hc_step_court *court, const char *path, bool all, const char *json);

/* The document. The caller frees it with json_decref; a json_t. */
struct json_t *hc_step_document(const struct hc_step_court *court, const char *path);

/* A line on a terminal that says what is judged now; and its removal. */
void hc_step_show_progress(const struct hc_step_verdict *now);
void hc_step_end_progress(void);

#endif

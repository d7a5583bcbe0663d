/* What the process may write into one file. A kernel that lowers it takes the record and the last
   word of the run with it, so it is looked at after each guarded call. */
#ifndef HC_CHECK_FILE_LIMIT_H
#define HC_CHECK_FILE_LIMIT_H

#include <stddef.h>

/* Remembers the limit. Call it once, before the first kernel. */
void hc_file_limit_begin(void);

/* Sets the limit back, and ignores its signal again. Returns whether it was another one, which
   `text` says then; a hard limit stays lower. */
int hc_file_limit_reset(char *text, size_t size);

#endif

/* A page as PDF, printed by a browser. */
#ifndef HC_CLI_REPORT_PDF_H
#define HC_CLI_REPORT_PDF_H

#include <stddef.h>

#include "op/status.h"

/* Prints the page of this text with the help of files in `folder`, which it removes again, and
   writes it to `path`. HC_UNSUPPORTED, with a line, if there is no Chromium; HC_IO if it failed. */
enum hc_status hc_pdf_write(const char *path, const char *text, size_t bytes, const char *folder);

#endif

/* The gnuplot scripts and the page's templates of reports/, which are compiled into the program. */
#ifndef HC_CLI_REPORT_SCRIPT_H
#define HC_CLI_REPORT_SCRIPT_H

/* The text of the file of this name ("compare.gp"), which must exist. */
const char *hc_script(const char *name);

#endif

/* The gnuplot scripts of reports/, which are compiled into the program. */
#ifndef HC_CLI_REPORT_SCRIPT_H
#define HC_CLI_REPORT_SCRIPT_H

/* The text of the script with this file name ("compare.gp"), which must exist. */
const char *hc_script(const char *name);

#endif

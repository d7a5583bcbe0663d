/* The gnuplot scripts of reports/, which the program carries with it. */
#ifndef HC_CLI_REPORT_SCRIPT_H
#define HC_CLI_REPORT_SCRIPT_H

/* The text of a script by its file's name, such as "compare.gp", which must be there. */
const char *hc_script(const char *name);

#endif

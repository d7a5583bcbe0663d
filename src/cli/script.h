/* The gnuplot scripts of reports/. */
#ifndef HC_CLI_SCRIPT_H
#define HC_CLI_SCRIPT_H

/* The path of a script by its file's name: in reports/ beside the program, as the portable folder has
   it, or in the sources that the program was built from. Stands until the next call. */
const char *hc_script(const char *name);

#endif

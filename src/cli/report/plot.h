/* Pictures, which gnuplot draws from files of columns. gnuplot is started only here, and gets
   nothing but typed values, written so that no text can be read as a command. */
#ifndef HC_CLI_REPORT_PLOT_H
#define HC_CLI_REPORT_PLOT_H

#include "op/status.h"

/* Variables for a script. */
struct hc_plot_values;

/* An empty set; NULL, with a line, if no temporary file can be made. */
struct hc_plot_values *hc_plot_values(void);
void hc_plot_free(struct hc_plot_values *values);

/* Sets a variable; or, if index > 0, that element of the array `name`, counted from 1. `name` is a
   constant of the caller, never a text that was read. A real that is not finite becomes gnuplot's
   NaN. A text becomes one line of valid UTF-8; if it has more than `most` characters, its middle is
   left out. */
void hc_plot_array(struct hc_plot_values *values, const char *name, int size);
void hc_plot_integer(struct hc_plot_values *values, const char *name, int index, long long value);
void hc_plot_real(struct hc_plot_values *values, const char *name, int index, double value);
void hc_plot_text(struct hc_plot_values *values, const char *name, int index, const char *text,
                  int most);

/* Sets a text that the script uses as the label of a tic, which gnuplot takes for a format. */
void hc_plot_tic(struct hc_plot_values *values, const char *name, int index, const char *text,
                 int most);

/* Folds a text of up to `most` lines of `columns` characters, behind a separator where one is near,
   and sets it as the two above do. Only what has more than these lines loses its middle. Returns
   the number of lines. */
int hc_plot_folded(struct hc_plot_values *values, const char *name, int index, const char *text,
                   int columns, int most);
int hc_plot_folded_tic(struct hc_plot_values *values, const char *name, int index, const char *text,
                       int columns, int most);

/* Runs the script, which is gnuplot's text, in `folder` with these variables, and frees them (NULL:
   fails as it said). A script writes its pictures to `drawing . NAME`. When it has ended well they
   take the places of the old ones in the folder, each in one step; otherwise the old ones stay. A
   script reads nothing from the user's own settings of gnuplot. HC_UNSUPPORTED if there is no
   gnuplot, HC_IO if it could not run or failed, with the last line that it said. */
enum hc_status hc_plot(const char *script, struct hc_plot_values *values, const char *folder);

/* The text of an SVG file from its <svg on, for the caller to free; NULL if it has none. */
char *hc_plot_read_svg(const char *path);

#endif

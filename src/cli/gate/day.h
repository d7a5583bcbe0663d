/* Dates, of which allowances expire. */
#ifndef HC_CLI_GATE_DAY_H
#define HC_CLI_GATE_DAY_H

/* A day as a number that compares like it: 20261122. */
typedef int hc_day;

/* Today's date in UTC. */
hc_day hc_day_today(void);

/* The date that a text "2026-11-22" names, 0 if it names none. */
hc_day hc_day_read(const char *text);

/* Writes it as it is read. */
enum { HC_DAY_TEXT = 16 };
void hc_day_write(hc_day day, char text[HC_DAY_TEXT]);

#endif

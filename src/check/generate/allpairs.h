/* Few rows of choices in which every two choices of different factors meet: most faults need no
   more than two choices at once (Kuhn, Wallace and Gallo, Software fault interactions and
   implications for software testing, IEEE Transactions on Software Engineering 30, 2004). */
#ifndef HC_CHECK_GENERATE_ALLPAIRS_H
#define HC_CHECK_GENERATE_ALLPAIRS_H

enum { HC_PAIR_FACTORS = 9, HC_PAIR_LEVELS = 12, HC_PAIR_ROWS = 160 };

/* Factor f has levels[f] choices, 1 .. HC_PAIR_LEVELS. Returns how many rows it took; row[f] is a
   choice, 0 .. levels[f] - 1. The same levels give the same rows. */
int hc_all_pairs(const int *levels, int factors, int rows[HC_PAIR_ROWS][HC_PAIR_FACTORS]);

#endif

/* What halfcheck itself misses, or cannot judge. Its column of the table has no miss, and that is
   no merit: a row whose buggy arm stays within the bound fails as a case, so that whatever
   halfcheck misses is not in the table. These sentences say what that is. */
#include <stdlib.h>
#include <string.h>

#include "cases/reports.h"
#include "cli/catches/inquiry.h"

/* What becomes of a report. */
enum fate { JUDGED, ELSEWHERE, LEFT_OUT };

static enum fate fate_of(const struct hc_inquiry *inquiry, const struct hc_report *report)
{
    if (!report->shown_by)
        return LEFT_OUT;
    for (int i = 0; i < inquiry->count; i++)
        if (strcmp(inquiry->row[i].name, report->shown_by->name) == 0)
            return JUDGED;
    return ELSEWHERE;
}

/* How many, and with `out` also which. */
static int list_reports(FILE *out, const struct hc_inquiry *inquiry, enum fate fate)
{
    int n;
    int count = 0;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n; i++)
        if (fate_of(inquiry, &reports[i]) == fate) {
            if (out)
                (void)fprintf(out, "%s %s", count ? "," : ":", reports[i].slug);
            count++;
        }
    return count;
}

/* Of bugs that halfcheck found itself the source says so in its first words. */
static int found_here(void)
{
    int n;
    int count = 0;
    const struct hc_report *reports = hc_reports(&n);
    for (int i = 0; i < n; i++)
        count += strncmp(reports[i].source, "found by halfcheck", 18) == 0;
    return count;
}

static void print_wrong(FILE *out, const struct hc_inquiry *inquiry)
{
    int count = 0;
    for (int i = 0; i < inquiry->count; i++)
        count += hc_catch_is_wrong(&inquiry->row[i]);
    (void)fprintf(out, "Bugs that it misses, or for which it gives a false alarm: %d", count);
    for (int i = 0; i < count; i++)
        (void)fprintf(out, "%s %s", i ? "," : ":", inquiry->row[i].name);
    (void)fputs(". A case whose buggy arm lies within the bound, or whose fixed arm does not, "
                "fails, so that there is none by construction. The line of halfcheck says how "
                "these bugs were chosen, and the other lines what other rules make of them.",
                out);
}

static void print_without(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->without_count)
        return;
    (void)fprintf(out, "Bugs whose arms could not be run here: %d", inquiry->without_count);
    for (int i = 0; i < inquiry->without_count; i++)
        (void)fprintf(out, "%s %s", i ? "," : ":", inquiry->without[i]->name);
    (void)fputs(".", out);
}

static void print_reports(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->all)
        return;
    (void)fprintf(out, "Of %d reports %d are judged here, as %d bugs.",
                  list_reports(NULL, inquiry, JUDGED) + list_reports(NULL, inquiry, ELSEWHERE) +
                      list_reports(NULL, inquiry, LEFT_OUT),
                  list_reports(NULL, inquiry, JUDGED), inquiry->count);
    (void)fprintf(out, " %d of them halfcheck found itself; no report of these was found.",
                  found_here());
}

static void print_elsewhere(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->all)
        return;
    (void)fprintf(out,
                  "Reports that are not judged here, since a case without a table of two arms "
                  "shows them: %d",
                  list_reports(NULL, inquiry, ELSEWHERE));
    (void)list_reports(out, inquiry, ELSEWHERE);
    (void)fputs(".", out);
}

static void print_left_out(FILE *out, const struct hc_inquiry *inquiry)
{
    if (!inquiry->all)
        return;
    (void)fprintf(out, "Reports that no case shows: %d", list_reports(NULL, inquiry, LEFT_OUT));
    (void)list_reports(out, inquiry, LEFT_OUT);
    (void)fputs(". halfcheck list reports gives the reasons.", out);
}

static void print_operations(FILE *out, const struct hc_inquiry *inquiry)
{
    (void)inquiry;
    (void)fputs("Checks of single operations miss most of them, halfcheck's own cases op/* too: in "
                "both arms of every formula each operation has the bits of its definition. What is "
                "wrong is which operation stands where, and in which format. The bound sees it "
                "because it is that of the whole formula around its real number: it needs the "
                "formula, where the other rules need two numbers alone.",
                out);
}

static void print_plays(FILE *out, const struct hc_inquiry *inquiry)
{
    int plays = 0;
    for (int i = 0; i < inquiry->count; i++)
        plays += inquiry->row[i].play;
    (void)fprintf(out,
                  "Of the bugs %d are plays: code of scalers, masters or checkpoints runs, and the "
                  "play says what the right state is and how far from it is still right. Whoever "
                  "does not look at that state sees numbers that are right.",
                  plays);
}

bool hc_inquiry_own(FILE *out, const struct hc_inquiry *inquiry, int item)
{
    static void (*const items[])(FILE *, const struct hc_inquiry *) = {
        print_wrong,    print_without,    print_reports, print_elsewhere,
        print_left_out, print_operations, print_plays};
    if (item >= (int)(sizeof items / sizeof items[0]))
        return false;
    items[item](out, inquiry);
    return true;
}

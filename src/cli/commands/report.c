#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "op/output.h"
#include "cli/command.h"
#include "cli/report/page.h"
#include "cli/report/pdf.h"

const struct hc_command hc_command_report;

enum format { HTML, MARKDOWN, PDF };
static const char *const formats[] = {"html", "md", "pdf", NULL};

/* What the options say. */
struct wishes {
    const char *folder;
    const char *baseline;
    int format;
};

static enum hc_status make_folder(const char *folder)
{
    struct stat s;
    if (mkdir(folder, 0777) == 0 ||
        (errno == EEXIST && stat(folder, &s) == 0 && S_ISDIR(s.st_mode)))
        return HC_OK;
    return hc_fail(HC_IO, "cannot make the folder %s: %s", folder, strerror(errno));
}

static void draw(const struct hc_page_record *records, int count, const char *folder,
                 struct hc_page_pictures *pictures)
{
    char scratch[4096];
    (void)snprintf(scratch, sizeof scratch, "%s/.drawing-XXXXXX", folder);
    if (!mkdtemp(scratch)) {
        *pictures = (struct hc_page_pictures){0};
        (void)snprintf(pictures->why_not, sizeof pictures->why_not, "%s", strerror(errno));
        return;
    }
    hc_page_draw(records, count, scratch, pictures);
    (void)rmdir(scratch);
}

static enum hc_status write_page(const char *path, const struct hc_page *page,
                                 const struct wishes *w)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "no memory for the page");
    enum hc_status status = hc_page_write(out, w->format == MARKDOWN, page);
    if (fclose(out) != 0)
        status = hc_fail(HC_NO_MEMORY, "no memory for the page");
    if (status == HC_OK && w->format == PDF)
        status = hc_pdf_write(path, text, length, w->folder);
    else if (status == HC_OK)
        status = hc_output_write(path, text, length);
    free(text);
    return status;
}

static int report(struct hc_page *page, const struct wishes *w)
{
    char path[4096];
    struct hc_page_pictures pictures;
    (void)snprintf(path, sizeof path, "%s/report.%s", w->folder, formats[w->format]);
    if (make_folder(w->folder) != HC_OK || hc_output_probe(path) != HC_OK)
        return hc_complain_message();
    draw(page->records, page->count, w->folder, &pictures);
    if (pictures.why_not[0])
        (void)hc_complain("no pictures: %s", pictures.why_not);
    page->pictures = &pictures;
    enum hc_status status = write_page(path, page, w);
    hc_page_free_pictures(&pictures);
    if (status != HC_OK)
        return hc_complain_message();
    printf("report: %s\n", path);
    return HC_AS_CLAIMED;
}

/* Compares the only record with the baseline before it is shown. */
static int compare(struct hc_page *page, const struct wishes *w)
{
    struct hc_record was = {0};
    struct hc_gate gate = {
        .growth = HC_GATE_GROWTH, .baseline = &was, .record = &page->records[0].record};
    struct hc_page_baseline baseline = {.path = w->baseline, .gate = &gate};
    if (page->count != 1)
        return hc_complain("report --baseline takes one record; halfcheck merge makes one of "
                           "several");
    page->baseline = &baseline;
    bool compared = hc_record_read(w->baseline, &was) == HC_OK && hc_gate_compare(&gate) == HC_OK;
    int status = compared ? report(page, w) : hc_complain_message();
    hc_gate_free(&gate);
    hc_record_free(&was);
    return status;
}

static int run(int argc, char **argv)
{
    struct wishes w = {.format = HTML};
    const struct hc_option options[] = {
        {.name = "out",
         .value = "DIR",
         .text = &w.folder,
         .help = "the folder of the page, which is made if necessary"},
        {.name = "format",
         .value = "FORMAT",
         .choice = &w.format,
         .choices = formats,
         .help = "html (default); md: Markdown, without pictures; pdf: printed by\n"
                 "Chromium, where there is one"},
        {.name = "baseline",
         .value = "FILE",
         .text = &w.baseline,
         .help = "also show what is otherwise than in this record, as halfcheck gate\n"
                 "finds it"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_report, options, argc, argv, &words, &status))
        return status;
    if (!w.folder || words == 0)
        return hc_complain("report needs records and --out DIR; see: halfcheck report --help");
    struct hc_page_record *records = calloc((size_t)words, sizeof *records);
    if (!records)
        return hc_complain("no memory for %d records", words);
    int count = 0;
    for (; count < words; count++) {
        records[count].name = argv[count + 1];
        if (hc_record_read(argv[count + 1], &records[count].record) != HC_OK)
            break;
    }
    struct hc_page page = {.records = records, .count = count};
    if (count < words)
        status = hc_complain_message();
    else
        status = w.baseline ? compare(&page, &w) : report(&page, &w);
    for (int r = 0; r < count; r++)
        hc_record_free(&records[r].record);
    free(records);
    return status;
}

const struct hc_command hc_command_report = {
    .name = "report",
    .usage = "RECORD... --out DIR",
    .summary = "make one self-contained page from records",
    .text = "Writes DIR/report.html, which needs no other file, no network and no script. It\n"
            "begins with the verdict in a word, what was run, and each failure with the command\n"
            "that repeats it. Then come what changed against a baseline, pictures that answer a\n"
            "question each, with the data that they are drawn from, the bugs from the field,\n"
            "what passed by family, and where it was measured. The verdict is PASS where\n"
            "halfcheck run would end with status 0, and nothing is worse than in the baseline.\n"
            "Pictures need gnuplot; without it the page says so. The exit status does not\n"
            "depend on the verdict.",
    .run = run,
};

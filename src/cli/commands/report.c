#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "op/output.h"
#include "cli/command.h"
#include "cli/report/page.h"

const struct hc_command hc_command_report;

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

static enum hc_status write_page(const char *path, const struct hc_page_record *records, int count,
                                 const struct hc_page_pictures *pictures)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "no memory for the page");
    enum hc_status status = hc_page_write(out, false, records, count, pictures);
    if (fclose(out) != 0)
        status = hc_fail(HC_NO_MEMORY, "no memory for the page");
    if (status == HC_OK)
        status = hc_output_write(path, text, length);
    free(text);
    return status;
}

static int report(const struct hc_page_record *records, int count, const char *folder)
{
    char path[4096];
    struct hc_page_pictures pictures;
    (void)snprintf(path, sizeof path, "%s/report.html", folder);
    if (make_folder(folder) != HC_OK || hc_output_probe(path) != HC_OK)
        return hc_complain_message();
    draw(records, count, folder, &pictures);
    if (pictures.why_not[0])
        (void)hc_complain("no pictures: %s", pictures.why_not);
    enum hc_status status = write_page(path, records, count, &pictures);
    hc_page_free_pictures(&pictures);
    if (status != HC_OK)
        return hc_complain_message();
    printf("report: %s\n", path);
    return HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    const char *folder = NULL;
    const struct hc_option options[] = {
        {.name = "out",
         .value = "DIR",
         .text = &folder,
         .help = "the folder of report.html, which is made if necessary"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_report, options, argc, argv, &words, &status))
        return status;
    if (!folder || words == 0)
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
    status = count == words ? report(records, count, folder) : hc_complain_message();
    for (int r = 0; r < count; r++)
        hc_record_free(&records[r].record);
    free(records);
    return status;
}

const struct hc_command hc_command_report = {
    .name = "report",
    .usage = "RECORD... --out DIR",
    .summary = "make one self-contained page from records",
    .text = "Writes DIR/report.html, which needs no other file and no network. It shows the\n"
            "verdicts, the share of its bound that each result takes, whether an error is the\n"
            "implementation's or the format's, the bugs from the field by mechanism, the pictures\n"
            "of the other cases, what did not pass, and where it was measured. Pictures need\n"
            "gnuplot; without it the page says so.",
    .run = run,
};

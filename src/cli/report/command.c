#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/record/json.h"
#include "cli/command.h"
#include "cli/report/page.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "op/status.h"
#include "op/text.h"

/* A page as PDF, printed by a browser. It is started without a shell, in a home of its own, so that
   nobody's settings or open windows have a part in it, and is given up after two minutes. The page
   cannot make it load anything: its policy forbids that. */

enum { NO_BROWSER = 127, SECONDS = 120, LONGEST = HC_MAX_PATH };

/* Names of Chromium and of browsers that are made of it. */
static const char *const browsers[] = {"chromium-headless-shell", "chromium", "chromium-browser",
                                       "google-chrome", "google-chrome-stable"};

/* Removes a folder and all that is in it. */
static void remove_folder(int parent, const char *name)
{
    const struct dirent *entry;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    while (entries && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(folder, entry->d_name, 0) != 0)
            remove_folder(folder, entry->d_name);
    if (entries)
        (void)closedir(entries);
    (void)unlinkat(parent, name, AT_REMOVEDIR);
}

static void become_browser(const char *folder)
{
    char home[LONGEST];
    char data[LONGEST + 32];
    const char *root = geteuid() == 0 ? "--no-sandbox" : "--disable-gpu"; /* root has no sandbox */
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || chdir(folder) != 0 || !getcwd(home, sizeof home) ||
        setenv("HOME", home, 1) != 0)
        _exit(1);
    (void)snprintf(data, sizeof data, "--user-data-dir=%s", home);
    for (int stream = 0; stream <= STDERR_FILENO; stream++)
        (void)dup2(nowhere, stream);
    (void)alarm(SECONDS);
    for (size_t i = 0; i < sizeof browsers / sizeof browsers[0]; i++)
        (void)execlp(browsers[i], browsers[i], "--headless", "--disable-gpu", root,
                     "--disable-dev-shm-usage", "--no-first-run", "--no-pdf-header-footer", data,
                     "--print-to-pdf=page.pdf", "page.html", (char *)NULL);
    _exit(NO_BROWSER);
}

static enum hc_status print(const char *folder)
{
    int outcome = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_browser(folder);
    if (child < 0)
        return hc_fail(HC_IO, "cannot start a browser: %s", strerror(errno));
    while (waitpid(child, &outcome, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == NO_BROWSER)
        return hc_fail(HC_UNSUPPORTED,
                       "a PDF is printed by a browser, and there is neither Chromium nor Chrome");
    if (!WIFEXITED(outcome) || WEXITSTATUS(outcome) != 0)
        return hc_fail(HC_IO, "the browser could not print the page");
    return HC_OK;
}

/* Copies the file that the browser has written. */
static enum hc_status take(const char *from, const char *path)
{
    char *text = NULL;
    long size = -1;
    FILE *file = fopen(from, "rb");
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0)
        text = malloc((size_t)size);
    bool whole = text && fseek(file, 0, SEEK_SET) == 0 &&
                 fread(text, 1, (size_t)size, file) == (size_t)size && size > 4 &&
                 memcmp(text, "%PDF", 4) == 0;
    enum hc_status status = whole ? hc_output_write(path, text, (size_t)size)
                                  : hc_fail(HC_IO, "the browser could not print the page");
    if (file)
        (void)fclose(file);
    free(text);
    return status;
}

/* Prints the page of this text with the help of files in `folder`, which it removes again, and
   writes it to `path`. HC_UNSUPPORTED, with a line, if there is no Chromium; HC_IO if it failed. */
static enum hc_status pdf_write(const char *path, const char *text, size_t bytes,
                                const char *folder)
{
    char scratch[LONGEST];
    char page[LONGEST + 16];
    if (snprintf(scratch, sizeof scratch, "%s/.printing-XXXXXX", folder) >= (int)sizeof scratch ||
        !mkdtemp(scratch))
        return hc_fail(HC_IO, "cannot print in %s: %s", folder, strerror(errno));
    (void)snprintf(page, sizeof page, "%s/page.html", scratch);
    enum hc_status status = hc_output_write(page, text, bytes);
    if (status == HC_OK)
        status = print(scratch);
    (void)snprintf(page, sizeof page, "%s/page.pdf", scratch);
    if (status == HC_OK)
        status = take(page, path);
    remove_folder(AT_FDCWD, scratch);
    return status;
}

const struct hc_command hc_command_report;

enum format { HTML, MARKDOWN, PDF };
static const char *const formats[] = {"html", "md", "pdf", NULL};

/* What the options say. */
struct wishes {
    const char *folder;
    const char *baseline;
    const char *watch;
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

static void draw_pictures(const struct hc_page_record *records, int count, const char *folder,
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

/* Without a page it is that of the watch. */
static enum hc_status write_page(const char *path, const struct hc_page *page,
                                 const struct wishes *w)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = hc_memory_stream(&text, &length);
    if (!out)
        return hc_fail(HC_NO_MEMORY, "no memory for the page");
    enum hc_status status =
        page ? hc_page_write(out, w->format == MARKDOWN, page) : hc_page_write_watch(out, w->watch);
    if (fclose(out) != 0 || hc_memory_lost() || hc_json_status() != HC_OK)
        status = hc_fail(HC_NO_MEMORY, "no memory for the page");
    if (status == HC_OK && w->format == PDF)
        status = pdf_write(path, text, length, w->folder);
    else if (status == HC_OK)
        status = hc_output_write(path, text, length);
    free(text);
    return status;
}

/* Writes the page of the records, of which the last is the baseline if there is one. */
static int report(const struct hc_page_record *records, int count, const struct wishes *w,
                  const struct hc_page_baseline *baseline)
{
    char path[4096];
    struct hc_page_pictures pictures;
    struct hc_page page = {.records = records,
                           .count = count - (baseline != NULL),
                           .pictures = &pictures,
                           .baseline = baseline};
    (void)snprintf(path, sizeof path, "%s/report.%s", w->folder, formats[w->format]);
    if (make_folder(w->folder) != HC_OK || hc_output_probe(path) != HC_OK)
        return hc_complain_message();
    draw_pictures(records, count, w->folder, &pictures);
    enum hc_status status = write_page(path, &page, w);
    hc_page_free_pictures(&pictures);
    if (status != HC_OK)
        return hc_complain_message();
    if (pictures.why_not[0])
        (void)hc_complain("no pictures: %s", pictures.why_not);
    hc_print_line(stdout, "report: %s", path);
    return HC_AS_CLAIMED;
}

/* Writes the page of what a watch has seen. */
static int report_watch(const struct wishes *w)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/watch.%s", w->folder, formats[w->format]);
    if (make_folder(w->folder) != HC_OK || hc_output_probe(path) != HC_OK ||
        write_page(path, NULL, w) != HC_OK)
        return hc_complain_message();
    hc_print_line(stdout, "report: %s", path);
    return HC_AS_CLAIMED;
}

/* Compares the only record with the baseline, which stands behind it, before both are shown. */
static int compare_with_baseline(const struct hc_page_record *records, int count,
                                 const struct wishes *w)
{
    struct hc_gate gate = {.growth = HC_GATE_GROWTH,
                           .record = &records[0].record,
                           .baseline = &records[count - 1].record};
    struct hc_page_baseline baseline = {.path = w->baseline, .gate = &gate};
    bool compared =
        hc_gate_check_whole(w->baseline, gate.baseline) == HC_OK &&
        hc_allowances_read_for(&gate.allowances, w->baseline, NULL, hc_date_today()) == HC_OK &&
        hc_gate_compare(&gate) == HC_OK;
    int status = compared ? report(records, count, w, &baseline) : hc_complain_message();
    hc_gate_free(&gate);
    return status;
}

/* Reads the records, the last of which is the baseline if there is one, and shows them. */
static int read_and_report(struct hc_page_record *records, int count, const struct wishes *w)
{
    int read = 0;
    for (; read < count; read++)
        if (hc_record_read(records[read].name, &records[read].record) != HC_OK)
            break;
    int status = HC_WRONG;
    if (read < count)
        status = hc_complain_message();
    else
        status = w->baseline ? compare_with_baseline(records, count, w)
                             : report(records, count, w, NULL);
    for (int r = 0; r < read; r++)
        hc_record_free(&records[r].record);
    return status;
}

static int run_report(int argc, char **argv)
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
         .help = "html (default); md: Markdown, without pictures; pdf: printed by Chromium, if\n"
                 "it is installed"},
        {.name = "baseline",
         .value = "FILE",
         .text = &w.baseline,
         .help = "also show what differs from this record or baseline, as halfcheck gate finds\n"
                 "it, with the allowances beside it"},
        {.name = "watch",
         .value = "FILE",
         .text = &w.watch,
         .help = "instead of records, take the seen.json of halfcheck.torch.watch, and write\n"
                 "DIR/watch.html"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_report, options, argc, argv, &words, &status))
        return status;
    if (w.watch && (words || w.baseline || w.format == MARKDOWN || !w.folder))
        return hc_complain("report --watch FILE takes --out DIR and no records, and writes html "
                           "or pdf");
    if (w.watch)
        return report_watch(&w);
    if (!w.folder || words == 0)
        return hc_complain("report needs records and --out DIR; see: halfcheck report --help");
    if (w.baseline && words != 1)
        return hc_complain("report --baseline takes one record; halfcheck merge makes one of "
                           "several");
    struct hc_page_record *records = calloc((size_t)words + 1, sizeof *records);
    if (!records)
        return hc_complain("no memory for %d records", words);
    for (int r = 0; r < words; r++)
        records[r].name = argv[r + 1];
    records[words].name = w.baseline;
    records[words].baseline = w.baseline != NULL;
    status = read_and_report(records, words + records[words].baseline, &w);
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
            "what passed by family, and where it was measured. The verdict is PASS if halfcheck\n"
            "run would end with status 0, and nothing is worse than in the baseline. Pictures\n"
            "need gnuplot; without it the page says so. The exit status does not depend on the\n"
            "verdict.",
    .run = run_report,
};

/* halfcheck catches: which rule of comparison catches which bug from the field. */
#include <string.h>

#include "check/record/json.h"
#include "cli/backend_options.h"
#include "cli/catches/inquiry.h"
#include "cli/catches/kernels.h"
#include "cli/command.h"
#include "op/output.h"

const struct hc_command hc_command_catches;

static enum hc_status write_json(const char *path, const struct hc_inquiry *inquiry)
{
    json_t *document = hc_inquiry_document(inquiry);
    enum hc_status status = hc_json_write(path, document);
    json_decref(document);
    return status;
}

/* The same for faults in kernels. */
static enum hc_status answer_kernels(const char *const *patterns, int count, const char *json,
                                     bool page)
{
    struct hc_kernel_inquiry inquiry;
    bool quiet = json && strcmp(json, "-") == 0;
    enum hc_status status = hc_kernels_inquire(patterns, count, &inquiry);
    if (status == HC_OK && !quiet)
        (page ? hc_kernels_print_page : hc_kernels_print)(stdout, &inquiry);
    if (status == HC_OK && json) {
        json_t *document = hc_kernels_document(&inquiry);
        status = hc_json_write(json, document);
        json_decref(document);
        status = status == HC_OK ? hc_json_status() : status;
    }
    hc_kernels_free(&inquiry);
    return status;
}

static enum hc_status answer(const struct hc_inquiry *inquiry, const char *json, bool page)
{
    bool quiet = json && strcmp(json, "-") == 0;
    if (!quiet && page) {
        hc_inquiry_print_page(stdout, inquiry);
        enum hc_status status =
            inquiry->all ? answer_kernels(NULL, 0, NULL, true) : HC_OK; /* the last section */
        if (status != HC_OK)
            return status;
    } else if (!quiet)
        hc_inquiry_print(stdout, inquiry);
    if (!json)
        return HC_OK;
    enum hc_status status = write_json(json, inquiry);
    return status == HC_OK ? hc_json_status() : status;
}

static int run_catches(int argc, char **argv)
{
    struct hc_backend_options backends;
    const char *json = NULL;
    bool page = false;
    bool kernels = false;
    const struct hc_option options[] = {
        {.include = hc_backend_options(&backends, HC_ONE_BACKEND,
                                       "evaluate the arms on this backend (default exact)")},
        {.name = "json",
         .value = "FILE",
         .text = &json,
         .help = "also write it as JSON; - is standard output, and nothing else is printed"},
        {.name = "markdown",
         .flag = &page,
         .help = "print the page docs/who-catches-what.md instead"},
        {.name = "kernels",
         .flag = &kernels,
         .help = "judge faults that are planted in a transformer's kernels, by the rules of those "
                 "who write such kernels; PATTERN is over names of faults"},
        {0},
    };
    int words;
    int status;
    const struct hc_backend *backend;
    struct hc_inquiry inquiry;
    if (!hc_read_options(&hc_command_catches, options, argc, argv, &words, &status))
        return status;
    if (hc_choose_backend("the table is made", &backends, "exact", &backend) != HC_OK)
        return hc_complain_message();
    if (json && hc_output_probe(json) != HC_OK)
        return hc_complain_message();
    if (kernels)
        return answer_kernels((const char *const *)argv + 1, words, json, page) == HC_OK
                   ? HC_AS_CLAIMED
                   : hc_complain_message();
    bool done = hc_inquire(backend, (const char *const *)argv + 1, words, &inquiry) == HC_OK &&
                answer(&inquiry, json, page) == HC_OK;
    status = done ? HC_AS_CLAIMED : hc_complain_message();
    hc_inquiry_free(&inquiry);
    return status;
}

const struct hc_command hc_command_catches = {
    .name = "catches",
    .usage = "[PATTERN...] [options]",
    .summary = "judge the arms of reported bugs by other rules of comparison, and count misses",
    .text =
        "PATTERN is a glob over the names of bugs, such as 'field/stagnation/*'. Without a\n"
        "pattern all are taken. Each bug has a buggy arm and a fixed one. Rules by which people\n"
        "accept a computed number (torch.testing.assert_close, numpy.allclose, FlashAttention's,\n"
        "1e-3, the cosine, msProbe's, and halfcheck's bound) judge both: to accept the buggy arm\n"
        "is a miss, and to refuse the fixed one is a false alarm. docs/who-catches-what.md says\n"
        "how each rule is applied, and where it comes from. The exit status does not depend on\n"
        "the counts.\n"
        "\n"
        "With --kernels the rules are those by which kernels of transformers are tested\n"
        "(FlashAttention's, TransformerEngine's, Liger's, PyTorch's, llm.c's). Each judges faults\n"
        "that are planted in such kernels, on random numbers, and the right kernels.",
    .run = run_catches,
};

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/subnormals.h"
#include "check/run_call.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "cli/define/define.h"
#include "cli/judge/answer.h"
#include "op/output.h"
#include "op/text.h"
#include "op/typed.h"

const struct hc_command hc_command_judge;
static int run_judge(int argc, char **argv);

/* What the command line says beside the question, and the tables of its options. */
struct orders {
    struct hc_option of_question[7];
    struct hc_option of_judgement[9];
    struct hc_backend_options backends;
    const char *json;
    const char *keep;
    const char *define;
    const char *variant;
    const char *lines;
    struct hc_words allow;
    bool all;
    bool strict;
};

/* Computes the outputs on the backend in place of those that were given. */
static enum hc_status compute(const struct hc_backend *backend, struct hc_question *q)
{
    struct hc_queue *queue;
    struct hc_breach breach;
    enum hc_status status = hc_backend_open(backend, &queue, 0);
    if (status != HC_OK)
        return status;
    status = hc_run_call(backend, queue, &q->call, &breach);
    backend->close(queue);
    if (status == HC_OK && breach.text[0])
        status = hc_fail(HC_DEVICE, "%s: %s", backend->name, breach.text);
    for (int o = 0; o < hc_ops[q->call.op].outputs; o++)
        q->given[o] = q->call.out[o].data != NULL;
    return status;
}

/* Judges all outputs that were given, and finds the worst. */
static enum hc_status judge_reading(const struct hc_question *q, struct hc_answer *answer)
{
    int64_t judged = 0;
    int64_t unbounded = 0;
    double worst = -1;
    answer->verdict = HC_PASS;
    for (int o = 0; o < hc_ops[q->call.op].outputs; o++) {
        struct hc_judged_output *r = &answer->output[o];
        if (!q->given[o] || (q->only_out >= 0 && q->only_out != o))
            continue;
        enum hc_status status = hc_judge_output(answer->judge, o, q->only, r);
        if (status != HC_OK)
            return status;
        answer->judged[o] = true;
        judged += r->judged;
        unbounded += r->unbounded;
        if (r->judged && r->worst.ratio > worst) {
            worst = r->worst.ratio;
            answer->worst = o;
        }
        answer->improbable |= hc_judged_excess(r) > 1;
        if (r->wrong)
            answer->verdict = HC_FAIL;
    }
    answer->improbable &= answer->verdict == HC_PASS;
    if (unbounded == judged)
        answer->verdict = HC_MISTRUSTED;
    return HC_OK;
}

static int64_t count_wrong(const struct hc_answer *answer)
{
    int64_t wrong = 0;
    for (int o = 0; o < HC_MAX_OUT; o++)
        wrong += answer->judged[o] ? answer->output[o].wrong : 0;
    return wrong;
}

/* Judges numbers as fp32, as the contract takes them; and if that fails, as they were given. The
   reading with fewer wrong elements counts, for all outputs. */
static enum hc_status judge_outputs(const struct hc_question *q, struct hc_judge *judge,
                                    struct hc_answer *answer)
{
    enum hc_status status = judge_reading(q, answer);
    if (status != HC_OK || !hc_judge_two_readings(&q->call, q->numbers))
        return status;
    answer->numbers = "as fp32";
    if (answer->verdict != HC_FAIL)
        return HC_OK;
    struct hc_answer given = {.question = q,
                              .judge = judge,
                              .backend = answer->backend,
                              .flushed = answer->flushed,
                              .all_flushed = answer->all_flushed,
                              .numbers = "as given"};
    const struct hc_judge before = *judge;
    judge->numbers = q->numbers;
    judge->as_given = true;
    status = judge_reading(q, &given);
    if (given.verdict != HC_FAIL || count_wrong(&given) < count_wrong(answer))
        *answer = given;
    else
        *judge = before;
    return status;
}

/* The command line as it was typed. */
static void set_repro(struct hc_answer *answer)
{
    size_t used = 0;
    for (const char *const *word = hc_command_line(); *word; word++) {
        char quoted[2048];
        if (!hc_text_shell(quoted, sizeof quoted, *word) ||
            used + strlen(quoted) + 2 > sizeof answer->repro) {
            answer->repro[0] = '\0';
            return;
        }
        used += (size_t)snprintf(answer->repro + used, sizeof answer->repro - used, "%s%s",
                                 used ? " " : "", quoted);
    }
}

static enum hc_status answer_question(const struct orders *orders, struct hc_judge *judge,
                                      struct hc_answer *answer)
{
    enum hc_status status = judge_outputs(answer->question, judge, answer);
    if (status != HC_OK)
        return status;
    /* Zeros would have passed, too. */
    if (answer->verdict == HC_PASS && answer->all_flushed)
        answer->verdict = HC_MISTRUSTED;
    if (orders->strict && answer->improbable)
        answer->verdict = HC_FAIL;
    set_repro(answer);
    /* A case that cannot be written takes nothing from the answer. */
    if (orders->keep && answer->verdict == HC_FAIL && !answer->improbable)
        status = hc_answer_keep(answer, orders->keep);
    bool to_stdout = orders->json && strcmp(orders->json, "-") == 0;
    if (!to_stdout)
        hc_answer_print(stdout, answer);
    enum hc_status written = orders->json ? hc_answer_write(orders->json, answer) : HC_OK;
    return status != HC_OK ? status : written;
}

static int judge_call(const struct orders *orders, const struct hc_question_words *words)
{
    const struct hc_backend *backend = NULL;
    struct hc_question q;
    struct hc_judge judge = {0};
    struct hc_answer answer = {.question = &q, .judge = &judge};
    struct hc_accumulator sums;
    struct hc_flushed flushed = {0};
    enum hc_status status = HC_OK;
    if (orders->backends.named.count) {
        status = hc_choose_backend("judge runs", &orders->backends, "exact", &backend);
        if (status != HC_OK)
            return hc_complain_message();
        answer.backend = backend->spelled ? backend->spelled : backend->name;
    }
    status = hc_question_ask(&q, words, backend != NULL);
    if (status == HC_OK)
        status = hc_accumulator_read(q.accumulator, &q.call, &sums);
    if (status == HC_OK && backend)
        status = compute(backend, &q);
    if (status == HC_OK && backend && !q.accumulator)
        sums = hc_backend_accumulator(backend, &q.call);
    if (status == HC_OK && sums.flushes && !hc_flushed_open(&flushed, &q.call))
        status = hc_fail(HC_NO_MEMORY, "no memory for the factors as the backend reads them");
    if (status == HC_OK)
        status = hc_judge_open(&judge, flushed.count ? &flushed.call : &q.call, &sums);
    judge.given = flushed.count ? &q.call : NULL;
    answer.flushed = flushed.count;
    answer.all_flushed = flushed.all;
    judge.all = orders->all;
    if (status == HC_OK)
        status = answer_question(orders, &judge, &answer);
    hc_judge_close(&judge);
    hc_flushed_close(&flushed);
    hc_question_close(&q);
    if (status != HC_OK)
        return hc_complain_message();
    return answer.verdict == HC_PASS ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

/* The word is an op, or a file that keeps a case. */
static int read_word(const char *word, struct hc_question_words *words)
{
    words->op = hc_op_by_name(word);
    if ((int)words->op < HC_OP_COUNT)
        return HC_AS_CLAIMED;
    if (access(word, F_OK) == 0) {
        if (words->tensors)
            return hc_complain("judge: %s keeps its own tensors; --tensors names others", word);
        words->tensors = word;
        return HC_AS_CLAIMED;
    }
    struct hc_nearest nearest = hc_nearest_to(word, strlen(word));
    for (int op = 0; op < HC_OP_COUNT; op++)
        hc_nearest_try(&nearest, hc_ops[op].name);
    return hc_complain("judge: '%s' is neither an op nor a file%s; see: halfcheck list ops", word,
                       hc_nearest_hint(&nearest));
}

/* Whether the files can be written. */
static enum hc_status probe(const struct orders *orders)
{
    enum hc_status status = orders->json ? hc_output_probe(orders->json) : HC_OK;
    return status == HC_OK && orders->keep ? hc_output_probe(orders->keep) : status;
}

/* --define goes with what files a definition has, and with nothing else. */
static int judge_by_definition(const struct orders *orders, const struct hc_question_words *words,
                               int count)
{
    const struct hc_define_question question = {.source = orders->define,
                                                .in = words->in,
                                                .out = words->out,
                                                .set = words->set,
                                                .tensors = words->tensors,
                                                .json = orders->json,
                                                .variant = orders->variant,
                                                .allow = orders->allow,
                                                .all = orders->all,
                                                .strict = orders->strict};
    if (count || orders->keep || words->accumulator || words->layout >= 0 ||
        orders->backends.named.count)
        return hc_complain(
            "judge --define takes --in, --out, --tensors, --set, --variant, --allow, --all, "
            "--strict and --json");
    return hc_define_judge_files(&question);
}

/* Judges what each line of a file asks: the words behind `judge`, with tabs between them. A line
   that is refused does not end the others. The worst status of all. */
static int judge_lines(const char *path)
{
    enum { MOST = 64 };
    char *line = NULL;
    size_t size = 0;
    int worst = HC_AS_CLAIMED;
    FILE *file = fopen(path, "r");
    if (!file)
        return hc_complain("judge: cannot read %s: %s", path, strerror(errno));
    while (getline(&line, &size, file) >= 0) {
        char *words[MOST + 1] = {(char[]){"judge"}};
        char *left = line;
        int count = 1;
        line[strcspn(line, "\n")] = '\0';
        for (char *word; count < MOST && (word = strtok_r(left, "\t", &left));)
            words[count++] = word;
        bool nested = false;
        for (int i = 1; i < count; i++)
            nested |= strncmp(words[i], "--lines", strlen("--lines")) == 0;
        int status;
        if (nested)
            status = hc_complain("judge: a line of %s has --lines itself", path);
        else if (count == MOST)
            status = hc_complain("judge: a line of %s has %d words or more", path, MOST - 1);
        else
            status = run_judge(count, words);
        worst = status > worst ? status : worst;
        (void)fflush(stdout); /* in the order of what is refused on standard error */
    }
    if (ferror(file))
        worst = hc_complain("judge: cannot read %s: %s", path, strerror(errno));
    free(line);
    (void)fclose(file);
    return worst;
}

/* The options that say what is judged. */
static const struct hc_option *options_of_question(struct orders *orders,
                                                   struct hc_question_words *words)
{
    const struct hc_option rows[] = {
        {.name = "in", .value = "[SLOT=]FILE[:TENSOR]", .words = &words->in, .help = "an input"},
        {.name = "out",
         .value = "[SLOT=]FILE[:TENSOR]",
         .words = &words->out,
         .help = "an output, which is judged"},
        {.name = "tensors",
         .value = "FILE",
         .text = &words->tensors,
         .help = "safetensors that are named as the op's slots"},
        {.name = "set",
         .value = "NAME=VALUE",
         .words = &words->set,
         .help = "a parameter (pad=1), an element of a small input (lr=1e-3), or what the "
                 "bytes of an input or output are (codes=e2m1)"},
        {.name = "layout",
         .value = "LAYOUT",
         .choice = &words->layout,
         .choices = hc_layout_names,
         .help = "the layout of images and filters in the files: nchw (default), or nhwc"},
        {.name = "accumulator",
         .value = "A",
         .text = &words->accumulator,
         .help = "fp32 (default), half, or PRECISION,BLOCK[,EXTRA[,cut]]: the bits of the\n"
                 "accumulator, how many terms it aligns at once, the bits it keeps below its\n"
                 "last one meanwhile, and whether it cuts"},
        {0},
    };
    _Static_assert(sizeof rows == sizeof orders->of_question, "it holds them");
    return memcpy(orders->of_question, rows, sizeof rows);
}

/* The options that say how it is judged, and what is written of that. */
static const struct hc_option *options_of_judgement(struct orders *orders)
{
    const struct hc_option rows[] = {
        {.name = "all",
         .flag = &orders->all,
         .help = "judge every element, even if it takes minutes"},
        {.name = "define",
         .value = "FILE",
         .text = &orders->define,
         .help =
             "judge by a definition: a text of an op, or the name of one (docs/definitions.md)"},
        {.name = "variant",
         .value = "NAME",
         .text = &orders->variant,
         .help = "judge by this variant of the definition; any: by one that fits all elements"},
        {.name = "allow",
         .value = "WORD",
         .words = &orders->allow,
         .help = "state a property of the implementation, such as order=blocks(16) (`halfcheck\n"
                 "explain def/NAME` lists such words); may be repeated"},
        {.name = "lines",
         .value = "FILE",
         .text = &orders->lines,
         .help = "do several judgements: each line of FILE has the words of one `judge`,\n"
                 "separated by tabs"},
        {.name = "strict",
         .flag = &orders->strict,
         .help = "also fail if sums are within their bounds, but their errors are too large to\n"
                 "come from roundings alone, in all probability"},
        {.name = "json",
         .value = "FILE",
         .text = &orders->json,
         .help = "write the judgement as JSON; - is standard output"},
        {.name = "keep",
         .value = "FILE",
         .text = &orders->keep,
         .help = "keep the smallest sub-problem that still fails, as safetensors"},
        {0},
    };
    _Static_assert(sizeof rows == sizeof orders->of_judgement, "it holds them");
    return memcpy(orders->of_judgement, rows, sizeof rows);
}

static int run_judge(int argc, char **argv)
{
    struct orders orders = {0};
    struct hc_question_words words = {.layout = -1};
    const struct hc_option options[] = {
        {.include = options_of_question(&orders, &words)},
        {.include = options_of_judgement(&orders)},
        {.include = hc_backend_options(&orders.backends, HC_HAS_ITS_OWN_SET,
                                       "compute the outputs on this backend, and judge those")},
        {0},
    };
    int count;
    int status;
    if (!hc_read_options(&hc_command_judge, options, argc, argv, &count, &status))
        return status;
    if (orders.lines)
        return hc_option_alone("lines")
                   ? judge_lines(orders.lines)
                   : hc_complain("judge --lines takes no other words: each line has its own");
    if ((orders.variant || orders.allow.count) && !orders.define)
        return hc_complain("judge: --%s is an option of --define",
                           orders.variant ? "variant" : "allow");
    if (orders.define)
        return judge_by_definition(&orders, &words, count);
    if (count != 1)
        return hc_complain("judge needs exactly one OP, or a FILE that keeps a case; see: "
                           "halfcheck list ops");
    status = read_word(argv[1], &words);
    if (status != HC_AS_CLAIMED)
        return status;
    if (probe(&orders) != HC_OK)
        return hc_complain_message();
    return judge_call(&orders, &words);
}

const struct hc_command hc_command_judge = {
    .name = "judge",
    .usage = "OP|FILE [--in FILE]... [--out FILE]... [options]",
    .summary = "judge results that another program computed",
    .text = "Reads inputs and outputs of one op from files: numpy's .npy, or safetensors. Every\n"
            "output is compared with the real value (MPFR), within the bound that any right\n"
            "implementation keeps, in whatever order it adds up. The worst element is shown, and\n"
            "the source of its error: the implementation or the format.\n\n"
            "Files fill the op's slots in order, or by name: --in w=weights.npy. `halfcheck\n"
            "explain op/OP` shows the slots. Images and filters are [N, C, H, W] and [K, C, R, S]\n"
            "in files, as PyTorch has them.\n\n"
            "FILE is a file that --keep wrote. It is judged again; with --backend, that backend\n"
            "computes its outputs anew.",
    .run = run_judge,
};

#include "cli/doctor/doctor.h"

#include <stdio.h>
#include <string.h>

#include "check/record/environment.h"
#include "check/record/json.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/backend_options.h"
#include "op/text.h"
#include "op/wrap.h"

const struct hc_command hc_command_doctor;

enum { WORD = 9, NAME = 16, INDENT = WORD + NAME };

static const struct {
    const char *word;
    enum hc_colour colour;
} healths[HC_HEALTH_STATES] = {[HC_HEALTH_OK] = {"ok", HC_COLOUR_PASS},
                               [HC_HEALTH_MISSING] = {"missing", HC_COLOUR_WARN},
                               [HC_HEALTH_BROKEN] = {"BROKEN", HC_COLOUR_FAIL}};

void hc_doctor_add(struct hc_doctor *doctor, enum hc_health health, const char *name,
                   const char *found, const char *costs, const char *repair)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "name", json_string(name));
    (void)json_object_set_new(o, "health", json_string(healths[health].word));
    (void)json_object_set_new(o, "found", hc_json_text(found));
    (void)json_object_set_new(o, "costs", costs ? hc_json_text(costs) : json_null());
    (void)json_object_set_new(o, "repair", repair ? hc_json_text(repair) : json_null());
    (void)json_array_append_new(doctor->findings, o);
    doctor->count[health]++;
}

static const char *text_of(const json_t *finding, const char *key)
{
    return json_string_value(json_object_get(finding, key));
}

/* A text behind what stands on the line already, as safe characters. */
static void print_text(int column, const char *text)
{
    char line[4096];
    hc_text_plain(line, sizeof line, text);
    hc_print_wrapped(stdout, column, INDENT, line);
}

static void print_more(const char *label, const char *text)
{
    if (!text)
        return;
    printf("%*s%-*s", WORD, "", NAME, label);
    print_text(INDENT, text);
}

static void print_finding(const json_t *finding)
{
    enum hc_health health = HC_HEALTH_OK;
    for (int h = 0; h < HC_HEALTH_STATES; h++)
        if (strcmp(text_of(finding, "health"), healths[h].word) == 0)
            health = (enum hc_health)h;
    int column = hc_colour_word(stdout, healths[health].colour, WORD, healths[health].word);
    column += hc_colour_word(stdout, HC_COLOUR_STRONG, NAME, text_of(finding, "name"));
    print_text(column, text_of(finding, "found"));
    print_more("  costs", text_of(finding, "costs"));
    print_more("  repair", text_of(finding, "repair"));
}

static void print_verdict(const struct hc_doctor *doctor)
{
    int broken = doctor->count[HC_HEALTH_BROKEN];
    int missing = doctor->count[HC_HEALTH_MISSING];
    (void)putchar('\n');
    hc_colour_print(stdout, broken ? HC_COLOUR_FAIL : HC_COLOUR_PASS, broken ? "FAIL" : "PASS");
    char reason[128];
    (void)snprintf(reason, sizeof reason,
                   broken ? ": %d broken, so results cannot be relied on"
                          : ": all that is needed is here; %d missing that one may do without",
                   broken ? broken : missing);
    hc_print_wrapped(stdout, 4, 2, reason);
}

static enum hc_status print_json(const struct hc_doctor *doctor)
{
    json_t *document =
        json_pack("{s:i, s:s, s:b, s:O}", "schema", 1, "halfcheck", hc_version(), "sound",
                  doctor->count[HC_HEALTH_BROKEN] == 0, "findings", doctor->findings);
    enum hc_status status = hc_json_print(stdout, document);
    json_decref(document);
    return status;
}

static int run_doctor(int argc, char **argv)
{
    static void (*const examinations[])(struct hc_doctor *) = {
        hc_doctor_machine, hc_doctor_libraries, hc_doctor_backends, hc_doctor_ranks,
        hc_doctor_tools,   hc_doctor_data,      hc_doctor_terminal};
    struct hc_doctor doctor = {.data = NULL};
    bool json = false;
    const struct hc_option options[] = {
        {.name = "data",
         .value = "DIR",
         .text = &doctor.data,
         .help = "look for CIFAR-10's binary files here"},
        {.name = "json", .flag = &json, .help = "print a JSON object instead"},
        {.include = hc_plugin_option},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_doctor, options, argc, argv, &words, &status))
        return status;
    if (words > 0)
        return hc_complain("doctor takes no argument '%s'; see: halfcheck help doctor", argv[1]);
    doctor.findings = json_array();
    if (!json)
        printf("%s\n\n", hc_version());
    size_t printed = 0;
    for (size_t i = 0; i < sizeof examinations / sizeof *examinations; i++) {
        (void)fflush(stdout);
        examinations[i](&doctor);
        for (; !json && printed < json_array_size(doctor.findings); printed++)
            print_finding(json_array_get(doctor.findings, printed));
    }
    enum hc_status written = json ? print_json(&doctor) : hc_json_status();
    if (!json && written == HC_OK)
        print_verdict(&doctor);
    json_decref(doctor.findings);
    if (written != HC_OK)
        return hc_complain_message();
    return doctor.count[HC_HEALTH_BROKEN] ? HC_WRONG : HC_AS_CLAIMED;
}

const struct hc_command hc_command_doctor = {
    .name = "doctor",
    .usage = "[options]",
    .summary = "show what is installed, what is missing, and what that costs",
    .text =
        "Looks at the processor, the libraries, the backends (each that can run does two small\n"
        "cases), MPI, the tools that halfcheck starts, Python, CIFAR-10 and the terminal. 'ok'\n"
        "means that something is here. 'missing' means that halfcheck can do without it; the\n"
        "lines below say what that costs and how to repair it. 'BROKEN' means that halfcheck\n"
        "needs it, and makes the exit status 2. doctor changes nothing on the machine.",
    .run = run_doctor,
};

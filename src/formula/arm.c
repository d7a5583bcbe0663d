/* Reading an arm's text. The formats of arithmetic are those that ops compute in. */
#include "formula/arm.h"

#include <ctype.h>
#include <string.h>

#include "formula/parser.h"
#include "op/typed.h"

static bool computes(enum hc_format f)
{
    return f == HC_FP64 || f == HC_FP32 || f == HC_BF16 || f == HC_FP16;
}

/* The format that the first `length` characters name. */
static enum hc_format read_format(const char *text, size_t length)
{
    char name[32] = "";
    if (length >= sizeof name)
        return HC_FORMAT_COUNT;
    memcpy(name, text, length);
    enum hc_format f = hc_format_of_word(name);
    return f == HC_I32 || f == HC_U8 ? HC_FORMAT_COUNT : f;
}

/* Says how a format is written that only stores numbers, or else which format of those that ops
   compute in may have been meant. */
static enum hc_status no_arithmetic(const char *text, size_t length)
{
    enum hc_format stores = read_format(text, length);
    if (stores != HC_FORMAT_COUNT)
        return hc_fail(HC_INVALID,
                       "an arm computes in fp64, fp32, bf16 or fp16, and '%.*s' has no arithmetic: "
                       "write fp32/%s, or %s(x) in the formula",
                       (int)length, text, hc_formats[stores].name, hc_formats[stores].name);
    struct hc_nearest nearest = hc_nearest_to(text, length);
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (computes((enum hc_format)f))
            hc_nearest_try(&nearest, hc_formats[f].name);
    return hc_fail(HC_INVALID, "an arm computes in fp64, fp32, bf16 or fp16, not in '%.*s'%s",
                   (int)length, text, hc_nearest_hint(&nearest));
}

static enum hc_status no_format(const struct hc_arm *arm, const char *text, size_t length)
{
    struct hc_nearest nearest = hc_nearest_to(text, length);
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        hc_nearest_try(&nearest, hc_formats[f].name);
    return hc_fail(HC_INVALID, "arm '%s': '%.*s' is no format%s", arm->text, (int)length, text,
                   hc_nearest_hint(&nearest));
}

static bool is_name(const char *text, size_t length)
{
    if (length == 0 || length > HC_LONGEST_CAST || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

static enum hc_status read_cast(const char *word, size_t length, struct hc_arm *arm)
{
    const char *sign = memchr(word, '=', length);
    if (!sign || !is_name(word, (size_t)(sign - word)))
        return hc_fail(HC_INVALID, "arm '%s': '%.*s' is not NAME=FORMAT", arm->text, (int)length,
                       word);
    if (arm->casts == HC_MAX_ARM_CASTS)
        return hc_fail(HC_INVALID, "arm '%s' names more than %d formats", arm->text,
                       HC_MAX_ARM_CASTS);
    size_t used = (size_t)(sign - word) + 1;
    enum hc_format format = read_format(sign + 1, length - used);
    if (format == HC_FORMAT_COUNT)
        return no_format(arm, sign + 1, length - used);
    for (int i = 0; i < arm->casts; i++)
        if (strlen(arm->cast[i].name) == used - 1 && memcmp(arm->cast[i].name, word, used - 1) == 0)
            return hc_fail(HC_INVALID, "arm '%s' gives '%s' a format twice", arm->text,
                           arm->cast[i].name);
    memcpy(arm->cast[arm->casts].name, word, used - 1);
    arm->cast[arm->casts++].format = format;
    return HC_OK;
}

enum hc_status hc_arm_read(const char *text, struct hc_arm *arm)
{
    *arm = (struct hc_arm){.arithmetic = HC_FORMAT_COUNT};
    if (strlen(text) > HC_LONGEST_ARM)
        return hc_fail(HC_INVALID, "an arm has at most %d characters: '%.40s...'", HC_LONGEST_ARM,
                       text);
    memcpy(arm->text, text, strlen(text) + 1);
    size_t length = strcspn(text, " ");
    const char *slash = memchr(text, '/', length);
    size_t first = slash ? (size_t)(slash - text) : length;
    arm->arithmetic = arm->storage = read_format(text, first);
    if (arm->arithmetic == HC_FORMAT_COUNT || !computes(arm->arithmetic))
        return no_arithmetic(text, first);
    if (slash)
        arm->storage = read_format(slash + 1, length - first - 1);
    if (arm->storage == HC_FORMAT_COUNT)
        return no_format(arm, slash + 1, length - first - 1);
    for (text += length; *(text += strspn(text, " ")); text += length) {
        length = strcspn(text, " ");
        enum hc_status status = read_cast(text, length, arm);
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

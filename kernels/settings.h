/* Settings of the backends built in, which `--set NAME=VALUE` makes: native=off has host multiply
   bf16 and fp16 in fp32, as CPUs without bf16 instructions do. They hold for the whole program. */
#ifndef HC_KERNELS_SETTINGS_H
#define HC_KERNELS_SETTINGS_H

#include <stdbool.h>

#include "op/status.h"

/* What can be set, for people. */
#define HC_SETTINGS_HELP                                                                           \
    "native=off: host multiplies bf16 and fp16 in fp32, even if the CPU has bf16\n"                \
    "instructions; native=amx, native=avx512bf16: host multiplies by these"

/* Whether the word, "NAME=VALUE", is about a setting. */
bool hc_is_setting(const char *word);

/* Makes the setting. HC_INVALID, with a line, if there is none of that name, or no such value
   here. */
enum hc_status hc_setting_take(const char *word);

/* The settings made, as options: " --set native=off"; "" if there are none. */
const char *hc_settings_options(void);

#endif

/* No plug-in: a library that, loaded into a program, makes it round upwards, and takes the place of
   a function of MPFR. */
#include <fenv.h>

const char *mpfr_get_version(void);
const char *mpfr_get_version(void)
{
    return "3.1.6";
}

__attribute__((constructor)) static void round_upwards(void)
{
    (void)fesetround(FE_UPWARD);
}

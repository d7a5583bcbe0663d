/* The libraries that the program uses: those that were there when it was built, and those that were
   loaded when it began, which a new package of the system may have replaced. */
#ifndef HC_CHECK_RECORD_LIBRARIES_H
#define HC_CHECK_RECORD_LIBRARIES_H

struct hc_library {
    const char *name;  /* as in records: "mpfr" */
    const char *built; /* the version of its headers; "" if that is not kept */
    char loaded[48];   /* the version that it says itself; "" if it is not loaded or says none */
};

/* All that the program may use, in one order; *n is their number. The optional ones have neither
   version where the program was built without them. */
const struct hc_library *hc_libraries(int *n);

#endif

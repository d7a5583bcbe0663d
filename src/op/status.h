/* Environment errors: a status, and one line of text for the person at the terminal. Programmer
   errors are asserted; numerical disagreement is a verdict. */
#ifndef HC_OP_STATUS_H
#define HC_OP_STATUS_H

enum hc_status {
    HC_OK,
    HC_UNSUPPORTED, /* this backend does not do that op in those formats or shapes */
    HC_NO_MEMORY,
    HC_DEVICE, /* the device or a library of it failed */
    HC_IO,     /* a file could not be read or written */
    HC_INVALID /* what the user gave is not valid */
};

/* Keeps the line, in place of this thread's last one, and returns the status. Control characters in
   it become spaces. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
enum hc_status
hc_fail(enum hc_status status, const char *format, ...);

/* The line of this thread's last hc_fail. */
const char *hc_message(void);

#endif

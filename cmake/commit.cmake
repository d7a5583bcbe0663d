# Writes the commit that is being built to OUTPUT, with a "+" if there are changes, unless OUTPUT
# says so already. Run at every build: cmake -D SOURCE=... -D OUTPUT=... -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=+
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define HC_COMMIT \"${commit}\"\n")

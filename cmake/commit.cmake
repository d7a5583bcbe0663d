# Writes the commit that is being built to OUTPUT, with a "+" if there are changes, unless OUTPUT
# says so already. Sources without git have it in $HALFCHECK_COMMIT, or have none. Run at every
# build: cmake -D SOURCE=... -D OUTPUT=... -P commit.cmake
set(commit "$ENV{HALFCHECK_COMMIT}")
if(commit STREQUAL "")
  execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=+
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit MATCHES "^[0-9a-f]*[+]?$")
  message(FATAL_ERROR "HALFCHECK_COMMIT is no commit: ${commit}")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define HC_COMMIT \"${commit}\"\n")

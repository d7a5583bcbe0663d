# The manual pages of share/man, made by the program itself. As a part of the build this makes them
# whenever the program is new; as a script it does so:
#   cmake -D PROGRAM=halfcheck -D SOURCE=... -D OUTPUT=FOLDER -P manual.cmake
if(NOT PROGRAM)
  set(output ${CMAKE_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${output}/man1/halfcheck.1
                     DEPENDS halfcheck ${CMAKE_CURRENT_LIST_FILE}
                     COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:halfcheck>
                             -D SOURCE=${CMAKE_SOURCE_DIR} -D OUTPUT=${output}
                             -P ${CMAKE_CURRENT_LIST_FILE}
                     COMMENT "Writing the manual pages" VERBATIM)
  add_custom_target(hc_manual ALL DEPENDS ${output}/man1/halfcheck.1)
  install(DIRECTORY ${output}/man1 DESTINATION share/man COMPONENT program)
  return()
endif()

# The day of the commit; without one the day of the build, or of SOURCE_DATE_EPOCH.
string(TIMESTAMP day "%Y-%m-%d" UTC)
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND git -C ${SOURCE} log -1 --format=%cs OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(commit)
    set(day ${commit})
  endif()
endif()
file(REMOVE_RECURSE ${OUTPUT}/man1)
file(MAKE_DIRECTORY ${OUTPUT}/man1)
execute_process(COMMAND ${CMAKE_COMMAND} -E env OMP_WAIT_POLICY=passive HALFCHECK_CUDA_PLUGIN=none
                        ${PROGRAM} manual --man ${OUTPUT}/man1 --date ${day}
                COMMAND_ERROR_IS_FATAL ANY)

# `cmake --install FOLDER --prefix DIR` in three components: `program`; `mpi`, where there is MPI; and
# `development`, which is what plug-ins are built with (docs/plugins.md). What is installed finds its parts from where it
# is, so that the folder may be moved.
include(CMakePackageConfigHelpers)

# What find_package(halfcheck) gives: halfcheck::plugin, with the flags under which arithmetic is
# what is written; and the program halfcheck::halfcheck.
add_library(hc_plugin INTERFACE)
set_target_properties(hc_plugin PROPERTIES EXPORT_NAME plugin)
target_include_directories(hc_plugin INTERFACE $<INSTALL_INTERFACE:include>)
target_compile_options(hc_plugin INTERFACE
                       $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off$<SEMICOLON>-fno-fast-math>
                       $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>)

set(package lib/cmake/halfcheck)
install(TARGETS halfcheck EXPORT halfcheck RUNTIME DESTINATION bin COMPONENT program)
install(TARGETS hc_plugin EXPORT halfcheck)
install(EXPORT halfcheck NAMESPACE halfcheck:: FILE halfcheckConfig.cmake DESTINATION ${package}
        COMPONENT development)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/halfcheckConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/halfcheck.pc @ONLY CONTENT
     "prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
program=\${prefix}/bin/halfcheck

Name: halfcheck
Description: A numerical test harness for mixed-precision training: headers of plug-ins
Version: @PROJECT_VERSION@
Cflags: -I\${includedir} -ffp-contract=off -fno-fast-math
")
install(FILES ${CMAKE_BINARY_DIR}/generated/halfcheckConfigVersion.cmake DESTINATION ${package}
        COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/generated/halfcheck.pc DESTINATION share/pkgconfig
        COMPONENT development)
install(DIRECTORY ${CMAKE_BINARY_DIR}/include/halfcheck DESTINATION include COMPONENT development)
if(TARGET halfcheck-cuda)
  install(TARGETS halfcheck-cuda LIBRARY DESTINATION lib/halfcheck COMPONENT program)
endif()
if(TARGET halfcheck-mpi)
  install(TARGETS halfcheck-mpi LIBRARY DESTINATION lib/halfcheck COMPONENT mpi)
endif()
if(TARGET halfcheck-nccl)
  install(TARGETS halfcheck-nccl LIBRARY DESTINATION lib/halfcheck COMPONENT program)
endif()
install(FILES src/cli/manual/completion.bash RENAME halfcheck
        DESTINATION share/bash-completion/completions COMPONENT program)
install(FILES src/cli/manual/completion.zsh RENAME _halfcheck
        DESTINATION share/zsh/site-functions COMPONENT program)
install(FILES LICENSE CHANGELOG.md DESTINATION share/doc/halfcheck COMPONENT program)
file(GLOB pages CONFIGURE_DEPENDS docs/*.md)
install(FILES ${pages} DESTINATION share/doc/halfcheck/docs COMPONENT program)

# Where oneDNN is no library of the system, a copy of it goes along.
if(DNNL_LIBRARY AND NOT DNNL_LIBRARY MATCHES "^/(usr/)?lib")
  get_filename_component(folder ${DNNL_LIBRARY} DIRECTORY)
  file(GLOB copies ${folder}/libdnnl.so*)
  install(FILES ${copies} DESTINATION lib/halfcheck COMPONENT program)
  set_target_properties(halfcheck PROPERTIES INSTALL_RPATH $ORIGIN/../lib/halfcheck)
endif()

include(cmake/manual.cmake)
include(cmake/package.cmake)

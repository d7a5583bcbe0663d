option(HC_PORTABLE "the folder build/portable: nothing dynamic but libc and libm, and no oneDNN" OFF)
if(HC_PORTABLE)
  set(archive .a)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(GMP gmp) # for its version alone
find_library(GMP_LIBRARY NAMES libgmp${archive} gmp REQUIRED)

# The compiler's own libraries as archives. Only the compiler knows where they are.
foreach(library gomp stdc++)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${library}.a
                  OUTPUT_VARIABLE HC_STATIC_${library} OUTPUT_STRIP_TRAILING_WHITESPACE)
endforeach()
if(HC_PORTABLE)
  set(OpenMP_gomp_LIBRARY ${HC_STATIC_gomp} CACHE FILEPATH "linked into the program")
  foreach(library MPFR JANSSON)
    string(TOLOWER ${library} name)
    find_library(${library}_ARCHIVE NAMES lib${name}.a REQUIRED)
    set_property(TARGET PkgConfig::${library} PROPERTY INTERFACE_LINK_LIBRARIES ${${library}_ARCHIVE})
  endforeach()
endif()
find_package(OpenMP REQUIRED COMPONENTS C)

# Optional: fast convolutions on the host. Without it the host backend uses exact's. There is no
# archive of it.
if(NOT HC_PORTABLE)
  find_library(DNNL_LIBRARY dnnl)
  find_path(DNNL_INCLUDE dnnl.h)
endif()
if(DNNL_INCLUDE)
  file(STRINGS ${DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h lines REGEX "_(MAJOR|MINOR|PATCH) [0-9]+$")
  list(TRANSFORM lines REPLACE "^.* " "")
  list(JOIN lines "." DNNL_VERSION)
endif()

find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
pkg_check_modules(MPFR REQUIRED IMPORTED_TARGET mpfr)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)

# Optional: fast convolutions on the host; without it the host backend uses exact's.
find_library(DNNL_LIBRARY dnnl)
find_path(DNNL_INCLUDE dnnl.h)
if(DNNL_INCLUDE)
  file(STRINGS ${DNNL_INCLUDE}/oneapi/dnnl/dnnl_version.h lines REGEX "_(MAJOR|MINOR|PATCH) [0-9]+$")
  list(TRANSFORM lines REPLACE "^.* " "")
  list(JOIN lines "." DNNL_VERSION)
endif()

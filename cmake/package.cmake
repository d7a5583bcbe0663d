# `cpack` in the folder of a build makes a package for Debian and its relatives. It fits the release
# that it was built on, whose name it has in its version: oneDNN has another name in each. A build
# with HC_PORTABLE needs nothing but libc, and fits all that are not older.
set(release any)
if(NOT HC_PORTABLE AND EXISTS /etc/os-release)
  file(STRINGS /etc/os-release lines REGEX "^(ID|VERSION_ID)=")
  list(SORT lines)
  list(JOIN lines "" release)
  string(REGEX REPLACE "(VERSION_)?ID=|\"" "" release "${release}")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME halfcheck)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION}+${release})
set(CPACK_PACKAGE_CONTACT "the halfcheck authors <maintainers@halfcheck.invalid>" CACHE STRING
    "name and address of who made the package")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "checks mixed-precision training for numerical errors")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "halfcheck checks the components of fp16 and bf16 training (rounding,
epsilons, loss scaling, master weights, batch norm, reductions, losses,
optimizers) against exact mathematics, on the backends that can run on the
machine in front of you, and ends with one exit status.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "pkgconf, cmake")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_files.cmake)
# What needs MPI is a package of its own, halfcheck-mpi, so that halfcheck itself needs none.
if(TARGET halfcheck-mpi)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
  set(CPACK_COMPONENTS_ALL program development mpi)
  set(CPACK_COMPONENT_PROGRAM_GROUP halfcheck)
  set(CPACK_COMPONENT_DEVELOPMENT_GROUP halfcheck)
  set(CPACK_COMPONENT_MPI_GROUP mpi)
  set(CPACK_DEBIAN_HALFCHECK_PACKAGE_NAME halfcheck)
  set(CPACK_DEBIAN_HALFCHECK_PACKAGE_SUGGESTS "pkgconf, cmake, halfcheck-mpi")
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME halfcheck-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "halfcheck (= ${CPACK_PACKAGE_VERSION})")
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
  set(CPACK_DEBIAN_MPI_PACKAGE_SUGGESTS "")
  set(CPACK_DEBIAN_MPI_DESCRIPTION
      "The plug-in by which halfcheck works as several processes, which mpirun
or Slurm starts. It is built with the MPI of this release.")
endif()
include(CPack)

# CPack runs this on the tree that becomes a package: it puts the files where Debian has them.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
if(EXISTS ${root}/halfcheck/usr) # with halfcheck-mpi beside it
  file(COPY ${root}/halfcheck/usr/share/doc/halfcheck/LICENSE
       DESTINATION ${root}/mpi/usr/share/doc/halfcheck-mpi)
  file(RENAME ${root}/mpi/usr/share/doc/halfcheck-mpi/LICENSE
       ${root}/mpi/usr/share/doc/halfcheck-mpi/copyright)
  string(APPEND root /halfcheck)
endif()
set(share ${root}/usr/share)
set(doc ${share}/doc/halfcheck)
file(MAKE_DIRECTORY ${share}/zsh/vendor-completions)
file(RENAME ${share}/zsh/site-functions/_halfcheck ${share}/zsh/vendor-completions/_halfcheck)
file(REMOVE_RECURSE ${share}/zsh/site-functions)
file(RENAME ${doc}/LICENSE ${doc}/copyright)

string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(RENAME ${doc}/CHANGELOG.md ${doc}/NEWS.md)
file(WRITE ${doc}/changelog "halfcheck (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See /usr/share/doc/halfcheck/NEWS.md.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${day}
")
file(GLOB pages ${share}/man/man1/*.1)
execute_process(COMMAND gzip -9 -n ${pages} ${doc}/changelog ${doc}/NEWS.md
                COMMAND_ERROR_IS_FATAL ANY)

# The flag keeps plug-ins from being built with another arithmetic; and the package that fits all
# releases has libraries in it on purpose.
set(overrides "halfcheck: pkg-config-bad-directive -fno-fast-math *\n")
if(CPACK_PACKAGE_VERSION MATCHES "any$")
  string(APPEND overrides "halfcheck: embedded-library *\n")
endif()
file(WRITE ${share}/lintian/overrides/halfcheck "${overrides}")

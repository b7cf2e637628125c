# Installs the libraries, the headers and the CMake packages: find_package(rushlight), and find_package(executorch) for
# the C++ API of ExecuTorch.

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rushlight)
set(component COMPONENT ${RUSHLIGHT_INSTALL_COMPONENT})
get_property(rushlight_targets GLOBAL PROPERTY RUSHLIGHT_TARGETS)
install(TARGETS ${rushlight_targets} EXPORT RushlightTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${component})
install(FILES include/rushlight.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${component})
install(DIRECTORY include/rushlight DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${component} FILES_MATCHING PATTERN "*.h")
install(EXPORT RushlightTargets NAMESPACE Rushlight:: FILE rushlight-targets.cmake DESTINATION ${package} ${component})
configure_package_config_file(cmake/rushlight-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/rushlight-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/rushlight-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/rushlight-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/rushlight-config-version.cmake cmake/rushlight-library.cmake
  DESTINATION ${package} ${component})
if(RUSHLIGHT_BUILD_EXECUTORCH AND TARGET rushlight_executorch)
  install(DIRECTORY executorch/include/executorch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rushlight-executorch
    ${component} FILES_MATCHING PATTERN "*.h")
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/executorch)
  configure_package_config_file(cmake/executorch-config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/executorch-config.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/executorch-config-version.cmake VERSION 1.5.1
    COMPATIBILITY SameMajorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/executorch-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/executorch-config-version.cmake cmake/executorch-codegen.cmake
    DESTINATION ${package} ${component})
  install(FILES cmake/executorch-subdirectory.cmake DESTINATION ${package} RENAME CMakeLists.txt ${component})
  foreach(name Utils Codegen)
    install(FILES cmake/executorch-tools.cmake DESTINATION ${package}/tools/cmake RENAME ${name}.cmake ${component})
  endforeach()
endif()
if(RUSHLIGHT_BUILD_SHARED)
  install(TARGETS rushlight_shared EXPORT RushlightTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${component})
endif()
if(RUSHLIGHT_BUILD_CLI AND PROJECT_IS_TOP_LEVEL)
  install(TARGETS executor_runner RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} ${component})
endif()

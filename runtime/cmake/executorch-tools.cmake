# tools/cmake/Utils.cmake and tools/cmake/Codegen.cmake below EXECUTORCH_ROOT, which is the folder of the CMake package.
include(${CMAKE_CURRENT_LIST_DIR}/../../executorch-codegen.cmake)

# add_subdirectory(<folder of the CMake package> executorch): the targets and functions of find_package(executorch). All
# parts of the package exist without a value of EXECUTORCH_BUILD_<part>.
cmake_minimum_required(VERSION 3.24)
if(POLICY CMP0144)  # the application may set EXECUTORCH_ROOT
  cmake_policy(SET CMP0144 NEW)
endif()
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
find_package(executorch CONFIG REQUIRED PATHS ${CMAKE_CURRENT_LIST_DIR} NO_DEFAULT_PATH)
foreach(part COREML CUDA EXTENSION_LLM EXTENSION_LLM_RUNNER KERNELS_LLM KERNELS_TORCHAO METAL MLX MPS NEURON QNN VULKAN)
  if(EXECUTORCH_BUILD_${part})
    message(WARNING "EXECUTORCH_BUILD_${part} has no effect: the package does not have this part")
  endif()
endforeach()

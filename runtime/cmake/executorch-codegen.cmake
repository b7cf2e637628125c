# Makes kernel libraries from YAML files in ExecuTorch's format. A Python with rushlight generates their sources:
# PYTHON_EXECUTABLE, else python3 from the search path.
#
#   gen_selected_ops(LIB_NAME ops ROOT_OPS "aten::add.out,aten::mm.out")
#   generate_bindings_for_kernels(LIB_NAME ops FUNCTIONS_YAML functions.yaml CUSTOM_OPS_YAML custom_ops.yaml)
#   gen_operators_lib(LIB_NAME ops KERNEL_LIBS portable_kernels my_kernels DEPS executorch)
#
# `ops` is then a library that registers the kernels of the selected operators at program start. With the option
# MANUAL_REGISTRATION of gen_operators_lib, the application calls torch::executor::register_all_kernels() of
# RegisterKernels.h instead.

# Sets PYTHON_EXECUTABLE to the Python of the search path, unless it is set.
function(resolve_python_executable)
  if(NOT PYTHON_EXECUTABLE)
    find_program(PYTHON_EXECUTABLE NAMES python3 python REQUIRED)
  endif()
endfunction()

# Makes programs that link a static library of the application keep all its objects, so that the kernels and backends in
# it are registered at program start. The libraries of this package do not need this.
function(executorch_target_link_options_shared_lib name)
  get_target_property(type ${name} TYPE)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    return()
  elseif(APPLE)
    set(options "SHELL:LINKER:-force_load,$<TARGET_FILE:${name}>")
  elseif(MSVC)
    set(options "LINKER:/WHOLEARCHIVE:$<TARGET_FILE:${name}>")
  else()
    set(options "SHELL:LINKER:--whole-archive $<TARGET_FILE:${name}> LINKER:--no-whole-archive")
  endif()
  set_property(TARGET ${name} APPEND PROPERTY INTERFACE_LINK_OPTIONS "${options}")
endfunction()

# Lets the linker leave out the sections of a program that nothing uses.
function(target_link_options_gc_sections name)
  if(APPLE)
    target_link_options(${name} PRIVATE LINKER:-dead_strip)
  elseif(MSVC)
    target_link_options(${name} PRIVATE LINKER:/OPT:REF)
  else()
    target_link_options(${name} PRIVATE LINKER:--gc-sections)
  endif()
endfunction()

# rushlight_kernels_yaml(<arguments>): runs the generator, or fails with its message.
function(rushlight_kernels_yaml)
  resolve_python_executable()
  execute_process(COMMAND ${PYTHON_EXECUTABLE} -m rushlight.select.kernels_yaml ${ARGN}
    RESULT_VARIABLE result ERROR_VARIABLE message)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${PYTHON_EXECUTABLE} -m rushlight.select.kernels_yaml: ${message}"
      "(set PYTHON_EXECUTABLE to a Python in which rushlight is installed)")
  endif()
endfunction()

# Adds `<flag> <absolute path>` to a list if a path is given, and makes CMake run again when the file changes.
macro(rushlight_yaml_option list flag path)
  if(${path})
    get_filename_component(absolute ${${path}} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND ${list} ${flag} ${absolute})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${absolute})
  endif()
endmacro()

# DTYPE_SELECTIVE_BUILD changes only the size of a program.
function(rushlight_note_dtype_selection value)
  if(value)
    message(WARNING "DTYPE_SELECTIVE_BUILD has no effect: the libraries of the package have all dtypes. `rushlight "
      "select` builds a runtime that has only the dtypes of the given programs.")
  endif()
endfunction()

# Selects the operators in a file of custom operators (OPS_SCHEMA_YAML), in a list (ROOT_OPS) or in programs
# (OPS_FROM_MODEL), or all operators (INCLUDE_ALL_OPS). Writes <LIB_NAME>/selected_operators.yaml, which `rushlight
# select` reads.
function(gen_selected_ops)
  cmake_parse_arguments(GEN "" "LIB_NAME;OPS_SCHEMA_YAML;INCLUDE_ALL_OPS;DTYPE_SELECTIVE_BUILD"
    "ROOT_OPS;OPS_FROM_MODEL" ${ARGN})
  if(NOT GEN_LIB_NAME OR GEN_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gen_selected_ops(LIB_NAME <name> [OPS_SCHEMA_YAML <file>] [ROOT_OPS <names>] "
      "[OPS_FROM_MODEL <files>] [INCLUDE_ALL_OPS <bool>])")
  endif()
  rushlight_note_dtype_selection("${GEN_DTYPE_SELECTIVE_BUILD}")
  set(arguments select --out ${CMAKE_CURRENT_BINARY_DIR}/${GEN_LIB_NAME}/selected_operators.yaml)
  rushlight_yaml_option(arguments --ops-schema-yaml GEN_OPS_SCHEMA_YAML)
  if(GEN_ROOT_OPS)
    string(REPLACE ";" "," root_ops "${GEN_ROOT_OPS}")
    list(APPEND arguments --root-ops ${root_ops})
  endif()
  if(GEN_OPS_FROM_MODEL)
    list(APPEND arguments --ops-from-model ${GEN_OPS_FROM_MODEL})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${GEN_OPS_FROM_MODEL})
  endif()
  if(GEN_INCLUDE_ALL_OPS)
    list(APPEND arguments --include-all-ops)
  endif()
  rushlight_kernels_yaml(${arguments})
endfunction()

# Records the YAML files of a library: ATen's operators (FUNCTIONS_YAML) and custom ones (CUSTOM_OPS_YAML). The YAML files
# of ExecuTorch's own kernels may be missing: the kernels of this package take their place.
function(generate_bindings_for_kernels)
  cmake_parse_arguments(GEN "ADD_EXCEPTION_BOUNDARY" "LIB_NAME;FUNCTIONS_YAML;CUSTOM_OPS_YAML;DTYPE_SELECTIVE_BUILD" ""
    ${ARGN})
  if(NOT GEN_LIB_NAME OR GEN_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "generate_bindings_for_kernels(LIB_NAME <name> [FUNCTIONS_YAML <file>] "
      "[CUSTOM_OPS_YAML <file>])")
  endif()
  if(GEN_ADD_EXCEPTION_BOUNDARY)
    message(FATAL_ERROR "generate_bindings_for_kernels: ADD_EXCEPTION_BOUNDARY is not available; a kernel must not "
      "throw")
  endif()
  if(GEN_FUNCTIONS_YAML MATCHES "kernels/(portable|optimized|quantized)/[^/]*\\.yaml$" AND NOT EXISTS ${GEN_FUNCTIONS_YAML})
    unset(GEN_FUNCTIONS_YAML)
  endif()
  set(arguments)
  rushlight_yaml_option(arguments --functions-yaml GEN_FUNCTIONS_YAML)
  rushlight_yaml_option(arguments --custom-ops-yaml GEN_CUSTOM_OPS_YAML)
  set(selected ${CMAKE_CURRENT_BINARY_DIR}/${GEN_LIB_NAME}/selected_operators.yaml)
  if(EXISTS ${selected})
    list(APPEND arguments --selected ${selected})
  endif()
  set_property(DIRECTORY PROPERTY RUSHLIGHT_KERNELS_YAML_${GEN_LIB_NAME} "${arguments}")
endfunction()

# Makes the library. KERNEL_LIBS are the libraries with the kernels: the application's libraries, and portable_kernels,
# optimized_kernels and quantized_kernels for kernels of the runtime.
function(gen_operators_lib)
  cmake_parse_arguments(GEN "MANUAL_REGISTRATION" "LIB_NAME;DTYPE_SELECTIVE_BUILD" "KERNEL_LIBS;DEPS" ${ARGN})
  if(NOT GEN_LIB_NAME OR GEN_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gen_operators_lib(LIB_NAME <name> [KERNEL_LIBS <libraries>] [DEPS <libraries>] "
      "[MANUAL_REGISTRATION])")
  endif()
  set(tables)
  foreach(kind optimized quantized portable)
    if("${kind}_kernels" IN_LIST GEN_KERNEL_LIBS)
      list(APPEND tables ${kind})
    endif()
  endforeach()
  rushlight_note_dtype_selection("${GEN_DTYPE_SELECTIVE_BUILD}")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${GEN_LIB_NAME})
  get_property(arguments DIRECTORY PROPERTY RUSHLIGHT_KERNELS_YAML_${GEN_LIB_NAME})
  if(NOT arguments AND EXISTS ${folder}/selected_operators.yaml)
    set(arguments --selected ${folder}/selected_operators.yaml)
  endif()
  list(PREPEND arguments bind --library ${GEN_LIB_NAME} --out ${folder})
  if(tables)
    list(APPEND arguments --tables ${tables})
  endif()
  if(GEN_MANUAL_REGISTRATION)
    list(APPEND arguments --manual-registration)
  endif()
  rushlight_kernels_yaml(${arguments})
  add_library(${GEN_LIB_NAME} STATIC ${folder}/register_kernels.cpp)
  target_include_directories(${GEN_LIB_NAME} PUBLIC ${folder})
  target_link_libraries(${GEN_LIB_NAME} PUBLIC executorch ${GEN_KERNEL_LIBS} ${GEN_DEPS})
  string(MAKE_C_IDENTIFIER ${GEN_LIB_NAME} symbol)
  if(GEN_MANUAL_REGISTRATION)
    return()
  elseif(APPLE)
    target_link_options(${GEN_LIB_NAME} INTERFACE LINKER:-u,_rushlight_registered_${symbol})
  else()
    target_link_options(${GEN_LIB_NAME} INTERFACE LINKER:--undefined=rushlight_registered_${symbol})
  endif()
endfunction()

# Makes a shared library for torch.ops.load_library(): with it, eager PyTorch can call the kernels of CUSTOM_OPS_YAML.
# PyTorch is that of PYTHON_EXECUTABLE, unless Torch_DIR or CMAKE_PREFIX_PATH leads to its CMake package.
function(gen_custom_ops_aot_lib)
  cmake_parse_arguments(GEN "" "LIB_NAME;CUSTOM_OPS_YAML" "KERNEL_SOURCES" ${ARGN})
  if(NOT GEN_LIB_NAME OR NOT GEN_KERNEL_SOURCES OR GEN_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gen_custom_ops_aot_lib(LIB_NAME <name> KERNEL_SOURCES <files> [CUSTOM_OPS_YAML <file>])")
  endif()
  find_package(Torch CONFIG QUIET)
  if(NOT Torch_FOUND)
    resolve_python_executable()
    execute_process(COMMAND ${PYTHON_EXECUTABLE} -c "import torch; print(torch.utils.cmake_prefix_path)"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_package(Torch CONFIG REQUIRED PATHS ${folder})
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${GEN_LIB_NAME})
  set(arguments)
  rushlight_yaml_option(arguments --custom-ops-yaml GEN_CUSTOM_OPS_YAML)
  if(NOT arguments)
    get_property(arguments DIRECTORY PROPERTY RUSHLIGHT_KERNELS_YAML_${GEN_LIB_NAME})
  endif()
  rushlight_kernels_yaml(torch --library ${GEN_LIB_NAME} --out ${folder} ${arguments})
  add_library(${GEN_LIB_NAME} SHARED ${folder}/register_torch.cpp ${GEN_KERNEL_SOURCES})
  set_target_properties(${GEN_LIB_NAME} PROPERTIES CXX_STANDARD 20 POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${GEN_LIB_NAME} PUBLIC ${folder})
  target_link_libraries(${GEN_LIB_NAME} PRIVATE Rushlight::executorch torch)
endfunction()

# For Java (java/): the native methods of org.rushlight, which use the C API.

add_library(rushlight_jni SHARED EXCLUDE_FROM_ALL java/rushlight_jni.cpp)
set_target_properties(rushlight_jni PROPERTIES
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/java/rushlight_jni.map)
if(NOT ANDROID)  # Android's compiler includes jni.h
  set(JAVA_AWT_LIBRARY NotNeeded)
  set(JAVA_AWT_INCLUDE_PATH NotNeeded)
  find_package(JNI REQUIRED)
  target_include_directories(rushlight_jni SYSTEM PRIVATE ${JNI_INCLUDE_DIRS})
endif()
target_compile_options(rushlight_jni PRIVATE ${rushlight_library_options})
target_link_libraries(rushlight_jni PRIVATE rushlight_c rushlight_flags)
target_link_options(rushlight_jni PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/java/rushlight_jni.map -Wl,--gc-sections)

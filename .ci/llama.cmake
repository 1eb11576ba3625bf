# Builds of llama.cpp only what its Python package loads, its many small files in groups, and with few
# optimisations, which change no result: a fifth of the time.
set(CMAKE_C_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
if(PROJECT_NAME STREQUAL "llama.cpp")
  set(LLAMA_BUILD_COMMON OFF)
  cmake_language(DEFER CALL set_target_properties llama PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
endif()

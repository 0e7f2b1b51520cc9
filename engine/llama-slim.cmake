# Builds of llama.cpp what specchat needs. CMake reads this within llama.cpp's own project() call, by
#     CMAKE_ARGS="-DLLAVA_BUILD=OFF -DCMAKE_PROJECT_llama.cpp_INCLUDE=<this file>"

include(${CMAKE_CURRENT_LIST_DIR}/llama-tiles.cmake)

# llama-cpp-python sets this in CMake's cache; a normal variable takes precedence.
set(LLAMA_BUILD_COMMON OFF)

# One file for each library: a wheel has no links and would hold three copies.
set(CMAKE_PLATFORM_NO_VERSIONED_SONAME ON)

# libllama builds graphs and reads files; ggml computes. -O3 for libllama takes a minute and makes nothing faster.
cmake_language(DEFER CALL target_compile_options llama PRIVATE -O1)

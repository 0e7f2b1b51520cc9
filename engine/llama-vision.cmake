# Read by the outer project, llama_cpp, which adds libmtmd. One file for each library, as in llama-slim.cmake.
set(CMAKE_PLATFORM_NO_VERSIONED_SONAME ON)

# Makes GCC compile llama.cpp's code for Intel's AMX correctly. CMake reads this within llama.cpp's own project() call.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:SHELL:-include \"${CMAKE_CURRENT_LIST_DIR}/llama-tiles.h\">")
endif()

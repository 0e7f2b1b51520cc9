# llama.cpp for a wheel: like llama-slim.cmake, with code for many processors, of which ggml picks the best at run time.
include(${CMAKE_CURRENT_LIST_DIR}/llama-slim.cmake)
set(GGML_NATIVE OFF)
set(GGML_BACKEND_DL ON)
set(GGML_CPU_ALL_VARIANTS ON)

# The backends go beside the other libraries, from where specchat_engine.llama.library loads them.
set(CMAKE_INSTALL_BINDIR llama_cpp/lib)
set(CMAKE_INSTALL_LIBDIR llama_cpp/lib)
set(CMAKE_INSTALL_INCLUDEDIR llama_cpp/include)
if(APPLE)
  set(CMAKE_INSTALL_RPATH "@loader_path")
else()
  set(CMAKE_INSTALL_RPATH "$ORIGIN")
endif()

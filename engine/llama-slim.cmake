# Builds of llama.cpp what specchat needs. CMake reads this within llama.cpp's own project() call, by
#     CMAKE_ARGS="-DLLAVA_BUILD=OFF -DCMAKE_PROJECT_llama.cpp_INCLUDE=<this file>"

# llama-cpp-python sets this in CMake's cache; a normal variable takes precedence.
set(LLAMA_BUILD_COMMON OFF)

# One file for each library: a wheel has no links and would hold three copies.
set(CMAKE_PLATFORM_NO_VERSIONED_SONAME ON)

# libllama builds graphs and reads files; ggml computes. -O3 for libllama takes a minute and makes nothing faster.
cmake_language(DEFER CALL target_compile_options llama PRIVATE -O1)

# A second ggml-cpu without llamafile's matrix products, beside the first: specchat_engine.llama.kernels computes with it
# where passes of all widths have to give the same bits. All but one of its files are those of the first.
function(specchat_add_exact_kernels)
  if(GGML_BACKEND_DL)
    return() # a build for many processors has none
  endif()
  get_target_property(folder ggml-cpu SOURCE_DIR)
  add_library(ggml-cpu-exact MODULE ${folder}/ggml-cpu/ggml-cpu.c
    "$<FILTER:$<TARGET_OBJECTS:ggml-cpu>,EXCLUDE,(ggml-cpu[.]c|sgemm[.]cpp)[.]o>")
  add_dependencies(ggml-cpu-exact ggml-cpu)
  foreach(name COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES LINK_LIBRARIES)
    get_property(all DIRECTORY ${folder} PROPERTY ${name})
    get_property(own TARGET ggml-cpu PROPERTY ${name})
    list(APPEND all ${own})
    list(FILTER all EXCLUDE REGEX "^GGML_USE_LLAMAFILE$")
    set_property(TARGET ggml-cpu-exact PROPERTY ${name} ${all})
  endforeach()
  find_package(OpenMP)
  llama_cpp_python_install_target(ggml-cpu-exact)
endfunction()
cmake_language(DEFER CALL specchat_add_exact_kernels)

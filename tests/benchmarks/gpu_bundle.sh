#!/usr/bin/env bash
# Packs what `benchmarks.gpu` needs on a machine with a GPU, but without a network or a compiler:
#   gpu_bundle.sh LIBRARIES OUT [PACKAGE ...]
# LIBRARIES holds llama.cpp's libraries and llama-server, built from the pinned sources for that GPU. For an NVIDIA card
# -DCMAKE_CUDA_ARCHITECTURES=90-real -DGGML_CUDA_COMPRESSION_MODE=none gives the smallest bundle. The packages are
# those that Python lacks there, with all that they need (pip's --no-deps); PYTHON_VERSION is Python's there [3.12].
# There: tar xf specchat-gpu.tar.xz && specchat-gpu/run.sh RESULTS
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
libraries=$(realpath "$1"); mkdir -p "$2"; out=$(realpath "$2"); shift 2
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
pack=$work/specchat-gpu; mkdir -p "$pack"/{lib,wheels,site}

git archive HEAD app engine tests docs pyproject.toml assets/specchat_assets assets/recipe ':(exclude,glob)tests/**/__snapshots__/**' | tar -C "$pack" -xf -
# The weights in eight bits: half the size, and models that are grown from them guess as well.
models=$pack/assets/specchat_assets/models
for model in "$models"/*18m.gguf "$models"/*2m.gguf; do
  PYTHONPATH=app:engine:assets:tests "$python" -c 'import sys; from pathlib import Path; from support.quantise import quantise
quantise(Path(sys.argv[1]), Path(sys.argv[1] + ".part"), "Q8_0")' "$model"
  mv "$model.part" "$model"
done
rm -f "$models"/*.safetensors

cp -P "$libraries"/lib*.so* "$libraries"/llama-server "$pack/lib"
packages=$("$python" -c 'import llama_cpp, pathlib; print(pathlib.Path(llama_cpp.__file__).parents[1])')
cp -r "$packages"/llama_cpp "$packages"/llama_cpp_python-*.dist-info "$packages"/specchat-*.dist-info "$pack/site"
rm -rf "$pack"/site/llama_cpp/lib && ln -s ../../lib "$pack/site/llama_cpp/lib"  # part of the binding looks only there
if (($#)); then
  platforms=(); for glibc in $(seq 39 -1 17); do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
  "$python" -m pip download --quiet --no-deps --only-binary=:all: --python-version "${PYTHON_VERSION:-3.12}" \
    --implementation cp "${platforms[@]}" --platform manylinux2014_x86_64 --dest "$pack/wheels" "$@"
fi

cat > "$pack/run.sh" <<'RUN'
#!/usr/bin/env bash
# Runs all parts; RESULTS gets their output. PyTorch's CUDA libraries are used if there are some.
set -euo pipefail
results=$(realpath -m "$1"); shift
cd "$(dirname "$0")"
if compgen -G 'wheels/*.whl' > /dev/null && [ ! -e site/.ready ]; then
  python3 -m pip install --quiet --no-index --no-deps --no-compile --no-cache-dir --upgrade --target site wheels/*.whl
  touch site/.ready
fi
cuda=$(python3 -c 'import importlib.util as u, pathlib
found = u.find_spec("nvidia")
print(":".join(str(p) for place in (found.submodule_search_locations if found else ()) for p in pathlib.Path(place).glob("*/lib")))')
export PYTHONPATH=$PWD/site:$PWD/app:$PWD/engine:$PWD/assets:$PWD/tests
export LD_LIBRARY_PATH=$PWD/lib${cuda:+:$cuda}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec python3 -m benchmarks.gpu "$results" --server "$PWD/lib/llama-server" "$@"
RUN
chmod +x "$pack/run.sh"
# Kernels are much alike, so a large dictionary makes them a tenth, if they are not compressed already.
tar -C "$work" --exclude __pycache__ -cf - specchat-gpu | xz -T1 --lzma2=preset=6,dict=64MiB > "$out/specchat-gpu.tar.xz"
ls -l "$out/specchat-gpu.tar.xz"

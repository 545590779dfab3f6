# The front door. `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help

JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 8 ] && n=8; echo $$n)
MVN ?= mvn -B -ntp
PYTHON := .venv/bin/python
JAR := dist/halley-spark4.1_2.13.jar

# What `make demo`, `make bench` and `make shell` take.
SCALE ?=
QUERIES ?=
ENGINES ?= spark,comet,halley
RUNS ?=
CONF ?=
KIND ?= sql

.PHONY: help
help: ## this list
	@echo "Halley: Spark's operators in C. Targets:"
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | \
	  while IFS=$$'\t' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

# ---- what a machine lacks

# One call for all that a target needs, so that a user who must install it himself is told once.
.PHONY: setup-demo setup-test
setup-demo:
	@scripts/setup engine spark python
setup-test:
	@scripts/setup engine spark python

.PHONY: setup-engine setup-spark setup-python setup-bench setup-fuzz
setup-engine setup-spark setup-python setup-bench setup-fuzz: setup-%:
	@scripts/setup $*

# ---- building

.PHONY: engine
engine: setup-engine ## the C library and the tool, into build/release
	@echo "==> engine (release)"
	@mkdir -p build
	@cmake -S engine -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DHALLEY_TESTS=OFF >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build build/release -j $(JOBS)

.PHONY: engine-debug
engine-debug: setup-engine
	@echo "==> engine (ASan + UBSan)"
	@mkdir -p build
	@cmake -S engine -B build/debug -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHALLEY_SANITIZE=ON >build/debug.log 2>&1 || { cat build/debug.log; exit 1; }
	@cmake --build build/debug -j $(JOBS)

.PHONY: jar
jar: engine setup-spark ## dist/halley-spark4.1_2.13.jar: plug-in, protobuf and library in one
	@scripts/make-jar $(JAR)

# ---- testing

.PHONY: test
test: setup-test jar engine-debug ## all tests: engine under sanitizers, then Spark, then TPC-H
	@scripts/run-tests engine library spark tpch

.PHONY: engine-test
engine-test: engine-debug ## the engine's tests (ctest, ASan + UBSan); T=regex picks some
	@scripts/run-tests engine $(if $(T),--match '$(T)')

# The sanitizer's memory layout does not stand much randomization of addresses.
RACING := test_broadcast_table test_plan test_pool
.PHONY: engine-tsan
engine-tsan: setup-engine ## the engine's tests that use threads, under ThreadSanitizer
	@echo "==> engine (TSan)"
	@mkdir -p build
	@cmake -S engine -B build/tsan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHALLEY_RACES=ON >build/tsan.log 2>&1 || { cat build/tsan.log; exit 1; }
	@cmake --build build/tsan -j $(JOBS) --target $(RACING)
	@for t in $(RACING); do setarch -R build/tsan/$$t || exit 1; done

.PHONY: spark-test
spark-test: engine setup-spark ## ScalaTest in local Spark; S=suite picks one, SQL=text the SQL files, CONF=k=v
	@scripts/run-tests library spark $(if $(S),--suite '$(S)') $(if $(SQL),--sql '$(SQL)') \
	  $(foreach c,$(CONF),--conf '$(c)')

.PHONY: golden
golden: engine setup-spark ## writes the golden plans of TPC-H anew; look at the difference before you commit it
	@scripts/run-tests spark --suite org.apache.comet.GoldenPlanSuite \
	  --jvm=-Dhalley.test.golden=$(CURDIR)/spark/src/test/resources/golden

.PHONY: tpch-test
tpch-test: setup-test jar ## TPC-H's answers over eight combinations of settings and on a local cluster; SCALE=0.1 QUERIES=1,6
	@scripts/run-tests tpch $(if $(SCALE),--scale $(SCALE)) $(if $(QUERIES),--queries $(QUERIES))

.PHONY: soak
soak: setup-demo jar ## many TPC-H queries in one session, whose resident memory must stay flat; RUNS=200 SCALE=0.1
	@$(PYTHON) bench/soak.py --jar $(JAR) $(if $(RUNS),--runs $(RUNS)) $(if $(SCALE),--scale $(SCALE)) \
	  $(if $(QUERIES),--queries $(QUERIES)) $(foreach c,$(CONF),--conf $(c))

.PHONY: fuzz
fuzz: setup-fuzz ## libFuzzer on every decoder; SECONDS_EACH=60 FUZZ=regex
	@scripts/fuzz

# ---- looking at it

.PHONY: demo
demo: setup-demo jar ## the 22 TPC-H queries by Spark alone and with Halley; SCALE=0.1 QUERIES=1,6
	@$(PYTHON) bench/demo.py --jar $(JAR) $(if $(SCALE),--scale $(SCALE)) $(if $(QUERIES),--queries $(QUERIES)) \
	  $(if $(RUNS),--runs $(RUNS)) $(foreach c,$(CONF),--conf $(c))

.PHONY: bench
bench: setup-demo setup-bench jar ## Spark, Comet and Halley side by side; SCALE=1 ENGINES=spark,comet,halley RUNS=3 QUERIES=1,6
	@$(PYTHON) bench/tpch.py --jar $(JAR) --engines $(ENGINES) $(if $(SCALE),--scale $(SCALE)) \
	  $(if $(QUERIES),--queries $(QUERIES)) $(if $(RUNS),--runs $(RUNS)) $(foreach c,$(CONF),--conf $(c))

.PHONY: bench-scan
bench-scan: setup-demo setup-bench jar ## filter and sum over lineitem: `halley run` against DuckDB, one thread each; SCALE=1
	@$(PYTHON) bench/scan_filter_sum.py $(if $(SCALE),--scale $(SCALE)) $(if $(RUNS),--runs $(RUNS))

.PHONY: shell
shell: setup-demo jar ## spark-sql, spark-shell or pyspark with Halley on; KIND=sql|scala|python
	@scripts/shell $(KIND) $(JAR) $(foreach c,$(CONF),--conf $(c))

# ---- tidying

.PHONY: format
format: ## clang-format on C, scalafmt on Scala where it is installed
	@scripts/format

.PHONY: check
check: ## the house rules that a script can check
	@scripts/check-sources

.PHONY: docs
docs: engine ## generated pages of docs/ (needs what `make jar` needs)
	@scripts/make-docs

.PHONY: clean
clean: ## everything built; not the data, not the Python environment
	rm -rf build dist spark/target

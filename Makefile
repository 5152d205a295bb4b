# mcp-exec - build, tests and installation. GNU make; everything it makes lies in build/. `make help` lists the targets.

CC       ?= cc
PREFIX   ?= /usr/local
DESTDIR  ?=
SAN      ?=
WERROR   ?=
V        ?=
BUILD    ?= build$(if $(SAN),-san)

.DEFAULT_GOAL := all
ifeq ($(origin CC),default)
CC := gcc
endif
Q := $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),@:,@printf '  %-7s %s\n' '$(1)' '$(2)')

VERSION := $(shell sed -n 's/.*MCP_EXEC_VERSION "\(.*\)"/\1/p' common/version.h)

# --- sources --------------------------------------------------------------------------------------

MODULES  := common policy supervisor worker
SOURCES  := $(sort $(wildcard $(MODULES:=/*.c)))
HEADERS  := $(sort $(wildcard $(MODULES:=/*.h) worker/gate/*.h))
GATE     := $(sort $(wildcard worker/gate/*.c))
TESTS    := $(sort $(wildcard tests/unit/test_*.c))
FAKES    := $(sort $(wildcard tests/fake/*.c))
LEAVE_OUT := $(sort $(wildcard tests/leave_out/*.c))
BENCH    := $(sort $(wildcard tests/bench/*.c))
ALL_C    := $(SOURCES) $(GATE) $(TESTS) $(FAKES) $(BENCH) $(wildcard tests/conformance/*.c tests/gate/*.c) $(LEAVE_OUT)
ALL_H    := $(HEADERS) $(wildcard tests/*/*.h)

objects   = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
ARCHIVES := $(MODULES:%=$(BUILD)/lib%.a)
SERVER   := $(BUILD)/bin/mcp-exec
WORKER   := $(BUILD)/libexec/mcp-exec/mcp-exec-worker
TEST_BIN := $(TESTS:tests/unit/%.c=$(BUILD)/tests/%)
FAKE_BIN := $(FAKES:tests/fake/%.c=$(BUILD)/tests/%)
SUITE_SERVER := $(BUILD)/tests/suite_server
STAMPED_SERVER := $(BUILD)/bench/stamped/bin/mcp-exec
STAMPED_WORKER := $(BUILD)/bench/stamped/libexec/mcp-exec/mcp-exec-worker
BENCH_BIN := $(BUILD)/bench/baseline $(BUILD)/bench/empty $(STAMPED_SERVER) $(STAMPED_WORKER)

# --- flags ----------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wvla -Wswitch-enum -Wmissing-prototypes -Wstrict-prototypes \
	-Wformat=2 -Wcast-qual -Wwrite-strings
CPPFLAGS_OURS = -D_GNU_SOURCE -I. $(LIB_CFLAGS)
CFLAGS_OURS   = -std=gnu17 -O2 -g $(WARNINGS) $(if $(WERROR),-Werror) $(HARDEN_CFLAGS) $(SAN_FLAGS)
LDFLAGS_OURS  = $(HARDEN_LDFLAGS) $(SAN_FLAGS) -Wl,--as-needed

# What the compiler may or may not know; each is tried alone. A sanitizer does its own checking of buffers.
TRY_CFLAGS := -Wnull-dereference -fvisibility=hidden -fPIE -fno-strict-aliasing -fstack-protector-strong \
	-fstack-clash-protection -fcf-protection=full -mbranch-protection=standard -ftrivial-auto-var-init=zero \
	-fzero-call-used-regs=used-gpr
TRY_LDFLAGS := -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code
TRY_FORTIFY := $(if $(SAN),,3 2)
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)

LIBRARIES := libevent_core libcjson libnl-3.0 libnl-route-3.0 libseccomp libcap

# The answers are kept in a makefile of their own, one for each compiler; make builds it first and starts again.
empty :=
comma := ,
define newline


endef
space := $(empty) $(empty)
PROBED := $(BUILD)/flags-$(subst /,_,$(subst $(space),_,$(CC))).mk
NEEDS_NO_COMPILER := clean help test demo bench bench-record dist deb format format-check uninstall vm roots test-pythons
ifneq ($(filter-out $(NEEDS_NO_COMPILER),$(or $(MAKECMDGOALS),all)),)
include $(PROBED)
endif

$(PROBED): Makefile
	@for l in $(LIBRARIES); do pkg-config --exists $$l || { \
		echo "The library $$l was not found. Please run: packaging/deps.sh build" >&2; exit 1; }; done
	@command -v $(firstword $(CC)) >/dev/null || { \
		echo "The compiler $(firstword $(CC)) was not found. Please run: packaging/deps.sh build" >&2; exit 1; }
	@mkdir -p $(BUILD)
	@t=$(BUILD)/probe; c=; l=; f=; \
	try() { $(CC) -Werror -O2 "$$@" -o $$t $$t.c >/dev/null 2>&1; }; \
	printf '#include <string.h>\nint main(int c, char **v) { char b[9]; return c > 8 || !strncpy(b, v[0], 8); }\n' >$$t.c; \
	for x in $(TRY_FORTIFY); do try -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$$x && \
		{ f="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$$x"; break; }; done; \
	printf 'int main(void) { return 0; }\n' >$$t.c; \
	for x in $(TRY_CFLAGS); do try $$x && c="$$c $$x"; done; \
	for x in $(TRY_LDFLAGS); do try -fPIE $$x && l="$$l $$x"; done; \
	rm -f $$t $$t.c; \
	{ echo "HARDEN_CFLAGS := $$f$$c"; echo "HARDEN_LDFLAGS :=$$l"; \
	  echo "LIB_CFLAGS := $$(pkg-config --cflags $(LIBRARIES))"; \
	  echo "SERVER_LIBS := $$(pkg-config --libs libevent_core libcjson libseccomp)"; \
	  echo "TEST_LIBS := $$(pkg-config --libs libevent_extra 2>/dev/null)"; \
	  echo "WORKER_LIBS := $$(pkg-config --libs libnl-route-3.0 libnl-3.0 libseccomp libcap)"; \
	  echo "GATE_LIBS := $$(pkg-config --libs libcap)"; \
	} >$@.new && mv $@.new $@

# --- build ----------------------------------------------------------------------------------------

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all everything
all: $(SERVER) $(WORKER)
	@echo "mcp-exec $(VERSION) is in $(SERVER): try \`make demo\`, or \`$(SERVER) check\` to see what protects a run here."

everything: $(SERVER) $(WORKER) $(TEST_BIN) $(FAKE_BIN) $(SUITE_SERVER) $(BENCH_BIN)

# A change of compiler or flags builds everything again.
.PHONY: FORCE
$(BUILD)/command: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CPPFLAGS_OURS) $(CPPFLAGS) $(CFLAGS_OURS) $(CFLAGS) $(LDFLAGS_OURS) $(LDFLAGS)' >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Both programs carry the same hash over every source, and refuse each other when it differs. Only the files that
# include version.h are compiled again when it changes.
$(BUILD)/build_id.h: FORCE
	@mkdir -p $(@D); echo "#define BUILD_ID 0x$$(LC_ALL=C sha256sum $(SOURCES) $(GATE) $(sort $(wildcard worker/gate/*.py)) $(HEADERS) | sha256sum | cut -c1-16)ULL" >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

VERSIONED := $(shell grep -ls 'common/version\.h\|BUILD_ID' $(ALL_C))
$(call objects,$(VERSIONED)): $(BUILD)/build_id.h
$(call objects,$(VERSIONED)): GENERATED = -include $(BUILD)/build_id.h

# The names of the system calls, as the compiler's headers have them. asm-generic counts its entries under such a name, too.
$(BUILD)/syscall_names.h: $(BUILD)/command
	@{ printf '#define SYSCALL_NAMES(X)'; echo '#include <sys/syscall.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -dM - | LC_ALL=C sort | \
		sed -n '/_syscalls\b\|_arch_specific_syscall\b/d; s/^#define __NR_\([a-z0-9_]*\) .*/ X(\1)/p' | tr -d '\n'; echo; } >$@
	@grep -q 'X(read)' $@ || { echo "$(CC) does not tell the names of the system calls." >&2; exit 1; }

SYSCALL_NAMES := $(call objects,supervisor/syscall_name.c)
$(SYSCALL_NAMES): $(BUILD)/syscall_names.h
$(SYSCALL_NAMES): GENERATED = -include $(BUILD)/syscall_names.h

# What pristine interpreters load, a shared object that the worker carries (worker/gate_image.h): some of our modules once
# more, without sanitizers, for the interpreter has none. Its symbols of Python are the interpreter's.
GATE_SHARED := worker/gate/plan.c worker/lockdown.c worker/report.c $(filter policy/landlock.c policy/mounts.c policy/namespaces.c \
	policy/privilege.c policy/rlimits.c policy/filter_load.c policy/view.c policy/view_table.c,$(SOURCES)) \
	$(filter common/blob.c common/buf.c common/clock.c common/fds.c common/packet.c common/signals.c common/stage.c,$(SOURCES))
GATE_OBJECTS := $(patsubst %.c,$(BUILD)/gate/%.o,$(sort $(GATE) $(GATE_SHARED)))
GATE_CFLAGS = -std=gnu17 -O2 -g $(WARNINGS) $(if $(WERROR),-Werror) $(filter-out -fPIE,$(HARDEN_CFLAGS)) -fPIC -fvisibility=hidden \
	-ffunction-sections -fdata-sections

$(BUILD)/gate/%.o: %.c $(BUILD)/command
	$(call say,CC,$< (gate))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_OURS) $(CPPFLAGS) $(GATE_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/gate/worker/gate/preload.o: worker/gate/preload.py worker/gate/leavings.py

define link_gate
	$(Q)$(CC) $(GATE_CFLAGS) $(CFLAGS) -shared $(filter-out -pie,$(HARDEN_LDFLAGS)) $(LDFLAGS) -Wl,--as-needed -Wl,--gc-sections -s \
		-Wl,--unresolved-symbols=ignore-all $(1) -o $@ $^ $(GATE_LIBS)
endef

$(BUILD)/gate.so: $(GATE_OBJECTS)
	$(call say,LINK,$@)
	$(call link_gate,)

# The linker names what it embeds by its path, so it is called where these are.
GATE_IMAGE := $(BUILD)/obj/worker/gate_embedded.o
define embed_gate
	@mkdir -p $(@D)
	@cp worker/gate/main.py $(dir $<)gate.py
	$(Q)cd $(dir $<) && $(LD) -r -b binary -z noexecstack -o $(abspath $@) gate.so gate.py
endef

$(GATE_IMAGE): $(BUILD)/gate.so worker/gate/main.py
	$(call embed_gate)

$(BUILD)/obj/%.o: %.c $(BUILD)/command
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_OURS) $(CPPFLAGS) $(GENERATED) $(CFLAGS_OURS) $(CFLAGS) -MMD -MP -c -o $@ $<

archived = $(call objects,$(filter-out %/main.c,$(filter $(1)/%,$(SOURCES))))
define archive_rule
$(BUILD)/lib$(1).a: $(call archived,$(1)) $(if $(filter worker,$(1)),$(addprefix $(BUILD)/obj/worker/gate/,plan.o pages.o) $(GATE_IMAGE)) $(BUILD)/sources
	$$(call say,AR,$$@)
	@rm -f $$@
	$(Q)ar rcsD $$@ $$(filter %.o,$$^)
endef
$(foreach m,$(MODULES),$(eval $(call archive_rule,$(m))))

# A source that is removed leaves no object behind in an archive.
$(BUILD)/sources: FORCE
	@mkdir -p $(@D); echo '$(SOURCES)' >$@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

define link
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_OURS) $(CFLAGS) $(LDFLAGS_OURS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		-Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(1)
endef

# Of policy only its own seccomp filter: ARCHITECTURE.md.
$(SERVER): $(call objects,supervisor/main.c) $(BUILD)/libsupervisor.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(SERVER_LIBS))

$(WORKER): $(call objects,worker/main.c) $(BUILD)/libworker.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(WORKER_LIBS))

# Order-only, so that every unit test waits for the answer and none is built again for it.
$(patsubst %.c,$(BUILD)/obj/%.o,$(TESTS)): | have-cmocka
.PHONY: have-cmocka
have-cmocka:
	@pkg-config --exists cmocka || { echo "The library cmocka was not found. Please run: packaging/deps.sh test" >&2; exit 1; }

$(TEST_BIN): $(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(ARCHIVES)
	$(call link,$(TEST_LIBS) $(SERVER_LIBS) $(WORKER_LIBS) -lcmocka)

$(FAKE_BIN): $(BUILD)/tests/%: $(BUILD)/obj/tests/fake/%.o $(BUILD)/libsupervisor.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(SERVER_LIBS))

# The product with other tools, for the conformance suite: tests/conformance/suite_server.c.
$(SUITE_SERVER): $(call objects,supervisor/main.c tests/conformance/suite_server.c) \
		$(BUILD)/libsupervisor.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,-Wl$(comma)--wrap=mcp_tools$(comma)--wrap=dispatch_new $(SERVER_LIBS))

# The test build in which steps of set-up can be left out: the objects of the product, and calls that go round by
# tests/leave_out. Nothing else depends on it, so that it is only made where it is asked for.
LEFT_SERVER := $(BUILD)/leave-out/bin/mcp-exec
LEFT_WORKER := $(BUILD)/leave-out/libexec/mcp-exec/mcp-exec-worker
SERVER_WRAPS := $(filter %/leave_out.c %/wrap_common.c %/wrap_http.c %/wrap_supervisor.c %/wrap_syscalls.c,$(LEAVE_OUT))
WORKER_WRAPS := $(filter-out %/wrap_http.c %/wrap_supervisor.c,$(LEAVE_OUT))
wraps = $(shell sed -nE 's/^WRAP.[^,]*, (\w+),.*/-Wl,--wrap=\1/p' $(1))

$(LEFT_SERVER): $(call objects,supervisor/main.c $(SERVER_WRAPS)) $(BUILD)/libsupervisor.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(call wraps,$(SERVER_WRAPS)) $(SERVER_LIBS))

# With a gate of its own, in which the same calls go round; what it does not call falls out.
GATE_WRAPS := $(filter-out %/wrap_common.c,$(WORKER_WRAPS))
LEFT_GATE := $(BUILD)/leave-out/gate
$(LEFT_GATE)/gate.so: $(GATE_OBJECTS) $(patsubst %.c,$(BUILD)/gate/%.o,$(GATE_WRAPS))
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(call link_gate,$(call wraps,$(GATE_WRAPS)))

$(LEFT_GATE)/embedded.o: $(LEFT_GATE)/gate.so worker/gate/main.py
	$(call embed_gate)

$(LEFT_WORKER): $(call objects,worker/main.c $(WORKER_WRAPS)) $(LEFT_GATE)/embedded.o $(BUILD)/libworker.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(call wraps,$(WORKER_WRAPS)) $(WORKER_LIBS))

# What a benchmark measures against, an empty sandbox, and the build that notes when a call passes which point.
SERVER_STAMPS := tests/bench/stamps.c tests/bench/stamps_supervisor.c
WORKER_STAMPS := tests/bench/stamps.c tests/bench/stamps_worker.c

$(BUILD)/bench/baseline: $(call objects,tests/bench/baseline.c) $(BUILD)/libcommon.a
	$(call link,)

$(BUILD)/bench/empty: $(call objects,tests/bench/empty.c) $(BUILD)/libworker.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(WORKER_LIBS))

$(STAMPED_SERVER): $(call objects,supervisor/main.c $(SERVER_STAMPS)) $(BUILD)/libsupervisor.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(call wraps,$(SERVER_STAMPS)) $(SERVER_LIBS))

$(STAMPED_WORKER): $(call objects,worker/main.c $(WORKER_STAMPS)) $(BUILD)/libworker.a $(BUILD)/libpolicy.a $(BUILD)/libcommon.a
	$(call link,$(call wraps,$(WORKER_STAMPS)) $(WORKER_LIBS))

-include $(patsubst %.o,%.d,$(call objects,$(ALL_C)) $(GATE_OBJECTS) $(patsubst %.c,$(BUILD)/gate/%.o,$(GATE_WRAPS)))

# --- tests ----------------------------------------------------------------------------------------

# What these build they build on all processors, unless the caller said otherwise.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: check test demo bench bench-record escape leave-out leave-out-build
check: everything
	@tests/run --build $(BUILD) unit $(if $(SAN),,arch)

test:
	@packaging/deps.sh test
	@$(MAKE) --no-print-directory $(JOBS) everything
	@tests/run --build $(BUILD)

leave-out-build: $(LEFT_SERVER) $(LEFT_WORKER)

leave-out: leave-out-build
	@python3 tests/leave_out/steps.py --table $(BUILD)/leave-out

# The programs for root file systems of other releases, whose C library may be older: they bring their own, see
# tests/pythons/_enter.sh.
BUNDLED := -Wl,--dynamic-linker=/opt/mcp-exec/lib/loader -Wl,--disable-new-dtags -Wl,-rpath=/opt/mcp-exec/lib
.PHONY: roots test-pythons vm
roots:
	@$(MAKE) --no-print-directory BUILD=build/pythons 'LDFLAGS=$(BUNDLED)' all
	@python3 tests/pythons/_roots.py

test-pythons:
	@packaging/deps.sh test
	@$(MAKE) --no-print-directory $(JOBS) everything
	@tests/run --build $(BUILD) pythons

# The package in virtual machines with other releases: its systems, made of packages once, stay below build/vm.
vm:
	@packaging/deps.sh vm
	@$(MAKE) --no-print-directory deb
	@tests/run --build $(BUILD) vm

demo:
	@packaging/deps.sh build
	@$(MAKE) --no-print-directory $(JOBS) $(SERVER) $(WORKER)
	@python3 tests/demo/demo.py $(SERVER)

# ESCAPE selects cases by name or pattern, as in `make escape ESCAPE='net.* priv.caps'`.
escape:
	@$(MAKE) --no-print-directory $(JOBS) $(SERVER) $(WORKER)
	@MCP_EXEC_BIN=$(abspath $(SERVER)) tests/escape/run $(foreach id,$(ESCAPE),'$(id)')

# The gate without a sandbox, in any Python: GATE_PYTHON=python3.13 make gate.
$(BUILD)/gate/gate.so: $(filter-out %/enter.o %/plan.o,$(filter $(BUILD)/gate/worker/gate/%,$(GATE_OBJECTS))) $(BUILD)/gate/tests/gate/stub_enter.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(GATE_CFLAGS) -shared -Wl,--unresolved-symbols=ignore-all -o $@ $^

.PHONY: gate
gate: $(BUILD)/gate/gate.so
	@python3 tests/gate/parity.py

.PHONY: syscalls
syscalls: $(SERVER) $(WORKER)
	@MCP_EXEC_BIN=$(abspath $(SERVER)) python3 tests/sandbox/syscalls.py --print

bench bench-record:
	@packaging/deps.sh bench
	@$(MAKE) --no-print-directory $(JOBS) $(SERVER) $(WORKER) $(BENCH_BIN)
	@MCP_EXEC_BIN=$(abspath $(SERVER)) MCP_EXEC_BUILD=$(abspath $(BUILD)) tests/bench/run $(if $(filter %-record,$@),--record)

# --- looking at the source ------------------------------------------------------------------------

# Analysers take their time: every file on its own, as many at once as ANALYSERS says.
ANALYSERS ?= $(shell nproc)
each_source = printf '%s\n' $(SOURCES) $(GATE) | xargs -P $(ANALYSERS) -n 1

.PHONY: format format-check tidy cppcheck analyze cross
format:
	clang-format -i $(ALL_C) $(ALL_H)

format-check:
	@clang-format --dry-run -Werror $(ALL_C) $(ALL_H)

tidy: compile_commands.json
	@$(each_source) clang-tidy --quiet -p . 2>$(BUILD)/tidy.log || { cat $(BUILD)/tidy.log >&2; exit 1; }

# It knows neither __VA_OPT__ nor the cleanup attribute, so leaks are left to the other analysers and to the sanitizers.
cppcheck:
	@cppcheck --quiet --std=c11 --enable=warning,portability,performance --inline-suppr --error-exitcode=1 \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --suppress=memleak --suppress=resourceLeak \
		'-D__VA_OPT__(...)=__VA_ARGS__' -D_GNU_SOURCE -DBUILD_ID=1 -I. $(SOURCES) $(GATE)

# fd-leak: descriptors 0 to 3 of a child that becomes another program are none, as gcc 14 has it; gcc 12 ignores the flag.
analyze: cross
	@$(each_source) gcc -fanalyzer -Wno-analyzer-fd-leak -Werror -DBUILD_ID=1 $(CPPFLAGS_OURS) -std=gnu17 -O2 $(WARNINGS) -Wnull-dereference \
		-S -o /dev/null

# Does every file compile for another architecture? The libraries' headers are the same there, so these are borrowed.
CROSS := $(if $(filter aarch64 arm64,$(shell uname -m)),x86_64-linux-gnu-gcc,aarch64-linux-gnu-gcc)
BORROWED := event2 cjson seccomp.h seccomp-syscalls.h sys/capability.h
cross:
	@command -v $(CROSS) >/dev/null || { echo "$(CROSS) was not found. Please run: packaging/deps.sh test" >&2; exit 1; }
	@rm -rf $(BUILD)/cross; mkdir -p $(BUILD)/cross/sys; for d in /usr/include /usr/include/$$(gcc -print-multiarch); do \
		for h in $(BORROWED); do [ ! -e $$d/$$h ] || cp -rs $$d/$$h $(BUILD)/cross/$$(dirname $$h)/; done; done
	@$(each_source) $(CROSS) -fsyntax-only -Werror -DBUILD_ID=1 $(CPPFLAGS_OURS) -I$(BUILD)/cross -std=gnu17 -O2 $(WARNINGS)

compile_commands.json: Makefile $(SOURCES) $(HEADERS)
	@{ sep='['; for f in $(ALL_C); do \
		printf '%s\n{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$$sep" '$(CURDIR)' "$$f" \
			'cc -DBUILD_ID=1 $(CPPFLAGS_OURS) -std=gnu17 -O2 $(WARNINGS)' "$$f"; sep=','; done; printf '\n]\n'; } >$@

# --- installation ---------------------------------------------------------------------------------

# What is installed, as MODE:FILE:PLACE below PREFIX. Units go to UNITDIR; empty: none does, as for a package whose tools
# look after that.
UNITDIR ?= $(PREFIX)/lib/systemd/system
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
UNITS   := $(wildcard packaging/systemd/*.service packaging/systemd/*.socket)
PAPERS  := README.md ARCHITECTURE.md SECURITY.md CHANGELOG.md LICENSE
EXAMPLES := $(wildcard packaging/nginx/* packaging/caddy/* packaging/clients/* packaging/kubernetes/* packaging/podman/*)
COMPLETIONS := packaging/completions
INSTALLED = \
	0755:$(SERVER):$(PREFIX)/bin/mcp-exec \
	0755:$(WORKER):$(PREFIX)/libexec/mcp-exec/mcp-exec-worker \
	0644:packaging/apparmor/mcp-exec:$(PREFIX)/share/mcp-exec/apparmor/mcp-exec \
	0644:packaging/mcp-exec.default:$(PREFIX)/share/mcp-exec/mcp-exec.default \
	0644:$(COMPLETIONS)/mcp-exec.bash:$(PREFIX)/share/bash-completion/completions/mcp-exec \
	0644:$(COMPLETIONS)/mcp-exec.zsh:$(ZSHDIR)/_mcp-exec \
	0644:$(COMPLETIONS)/mcp-exec.fish:$(PREFIX)/share/fish/vendor_completions.d/mcp-exec.fish \
	$(foreach m,$(wildcard packaging/man/*.[178]),0644:$(m):$(PREFIX)/share/man/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
	$(foreach f,$(PAPERS),0644:$(f):$(PREFIX)/share/doc/mcp-exec/$(f)) \
	$(foreach f,$(EXAMPLES),0644:$(f):$(PREFIX)/share/doc/mcp-exec/examples/$(f:packaging/%=%)) \
	$(if $(UNITDIR),$(foreach f,$(UNITS),0644:$(f):$(UNITDIR)/$(notdir $(f))))

# These name the programs by the paths of a package.
NAMING = $(PREFIX)/share/mcp-exec/apparmor/mcp-exec $(if $(UNITDIR),$(UNITS:packaging/systemd/%=$(UNITDIR)/%))
parts = $(subst :, ,$(1))
OWN_FOLDERS := libexec/mcp-exec share/mcp-exec/apparmor share/mcp-exec share/doc/mcp-exec/examples/nginx \
	share/doc/mcp-exec/examples/caddy share/doc/mcp-exec/examples/clients share/doc/mcp-exec/examples/kubernetes \
	share/doc/mcp-exec/examples/podman share/doc/mcp-exec/examples share/doc/mcp-exec

.PHONY: install uninstall dist deb clean help
install: $(SERVER) $(WORKER)
	$(foreach f,$(INSTALLED),install -D -m $(word 1,$(call parts,$(f))) $(word 2,$(call parts,$(f))) \
		$(DESTDIR)$(word 3,$(call parts,$(f)))$(newline)	)
	sed -i 's,/usr/bin/mcp-exec,$(PREFIX)/bin/mcp-exec,g; s,/usr/libexec/,$(PREFIX)/libexec/,g' $(NAMING:%=$(DESTDIR)%)

uninstall:
	rm -f $(foreach f,$(INSTALLED),$(DESTDIR)$(word 3,$(call parts,$(f))))
	cd $(DESTDIR)$(PREFIX) && rmdir $(OWN_FOLDERS) 2>/dev/null || :

# The same commit gives the same bytes: sorted names, the commit's time, no owner. Where there is no git, as in an unpacked
# archive, every file counts that a build does not make, and the time is that of a file.
GIT := git -c safe.directory='*'
ARCHIVE = $(BUILD)/mcp-exec-$(VERSION).tar.xz
ifneq ($(wildcard .git),)
DIST_FILES = $(GIT) ls-files -z
DIST_TIME = $(GIT) log -1 --format=%ct
else
DIST_FILES = find . \( -path './build*' -o -path ./debian -o -name node_modules -o -name __pycache__ \) -prune -o \
	\( -type f -o -type l \) ! -path ./compile_commands.json -printf '%P\0'
DIST_TIME = stat -c %Y common/version.h
endif
dist:
	@mkdir -p $(BUILD)
	@$(DIST_FILES) | LC_ALL=C sort -z | tar --null --no-recursion -T - --transform 's,^,mcp-exec-$(VERSION)/,S' \
		--mtime=@$${SOURCE_DATE_EPOCH:-$$($(DIST_TIME))} --owner=0 --group=0 --numeric-owner \
		--mode=u+rw,go=u,go-w --format=gnu -c | xz -6 -T1 >$(ARCHIVE)
	@echo $(ARCHIVE)

# Debian's tools want debian/ at the top of the tree, so they get a tree of their own: the archive's. The environment is
# theirs, too, but for the number of processors.
DEB := $(BUILD)/deb
DEB_TREE := $(DEB)/mcp-exec-$(VERSION)
deb: dist
	@packaging/deps.sh deb
	@rm -rf $(DEB) && mkdir -p $(DEB) && tar -xJf $(ARCHIVE) -C $(DEB) && cp -r $(DEB_TREE)/packaging/debian $(DEB_TREE)/debian
	@cd $(DEB_TREE) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD dpkg-buildpackage -us -uc -b >../build.log 2>&1 || \
		{ tail -n 40 ../build.log >&2; exit 1; }
	@rm -rf $(DEB_TREE)
	@ls $(DEB)/*.deb

clean:
	rm -rf build build-san $(BUILD) compile_commands.json

help:
	@echo 'make                  builds the programs into build/'
	@echo 'make check            unit and architecture tests: seconds, no root, no network'
	@echo 'make test             every test; installs what it needs first'
	@echo 'make escape           attacks on the sandbox, one line each; ESCAPE="net.*" selects some'
	@echo 'make test-pythons     key programs under the Pythons of other Debian releases; needs root'
	@echo 'make vm               the package and its units in virtual machines with Debian 12 and 13; needs root'
	@echo 'make demo             starts the server, calls its tool once and shows both sides'
	@echo 'make bench            what calls cost, next to the same without walls; bench-record keeps the result'
	@echo 'make gate             programs in a copy of an interpreter, without a sandbox; GATE_PYTHON chooses which'
	@echo 'make syscalls         how many system calls a program in the sandbox can reach, and which'
	@echo 'make leave-out        leaves out one step of the sandbox after the other; which test notices?'
	@echo 'make install          into PREFIX=/usr/local, below DESTDIR when it is given; make uninstall'
	@echo 'make dist             a source archive that is the same for the same commit'
	@echo 'make deb              a Debian package, in build/deb/'
	@echo 'make format           clang-format over the sources; format-check only looks'
	@echo 'make tidy cppcheck analyze            static analysers'
	@echo 'make compile_commands.json clean help'
	@echo 'Variables: CC=clang  SAN=address,undefined  WERROR=1  V=1  BUILD=dir  CFLAGS=...  LDFLAGS=...'

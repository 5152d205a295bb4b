# What the tests that need packages of npm share; a sh script sources it.

# install_packages FROM TO: installs what FROM/package-lock.json names into TO, unless it is there already. The lock file
# is copied last, and only after an install that worked: it says what node_modules holds.
install_packages() {
	mkdir -p "$2"
	if cmp -s "$1/package-lock.json" "$2/installed.json"; then
		return
	fi
	rm -f "$2/installed.json"
	cp "$1/package.json" "$1/package-lock.json" "$1/.npmrc" "$2/"
	if ! (cd "$2" && npm ci >install.log 2>&1); then
		sed 's/^/# /' "$2/install.log"
		echo "Bail out! npm ci failed"
		exit 1
	fi
	cp "$1/package-lock.json" "$2/installed.json"
}

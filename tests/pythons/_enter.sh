# _enter.sh - runs a command in another root file system, which is left as it was.
#
# usage: unshare --mount --propagation private sh _enter.sh ROOT BUILD NATIVE TESTS COMMAND...
#
# pivot_root, for in a chroot no user namespace can be made: user_namespaces(7). The programs bring the C library and
# the loader that they were linked for; the root's own may be older.
set -eu
root=$1 build=$2 native=$3 tests=$4
shift 4

mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0755 tmpfs "$root/opt"
mkdir -p "$root/opt/mcp-exec/lib" "$root/opt/tests" "$root/tmp/old"
cp -R "$build/bin" "$build/libexec" "$root/opt/mcp-exec/"
ldd "$native/bin/mcp-exec" "$native/libexec/mcp-exec/mcp-exec-worker" | sed -n 's/.* => \(\/[^ ]*\).*/\1/p' | sort -u |
	while read -r library; do cp -L "$library" "$root/opt/mcp-exec/lib/"; done
loader=$(readelf -l "$native/bin/mcp-exec" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
cp -L "$loader" "$root/opt/mcp-exec/lib/loader"
cp -R "$tests/lib" "$tests/sandbox" "$root/opt/tests/"
chmod -R a+rX "$root/opt"

cd "$root"
pivot_root . tmp/old
cd /
umount -l /tmp/old
rmdir /tmp/old
exec "$@"

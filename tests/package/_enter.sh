# _enter.sh - makes a copy of a root file system that is gone when the last process leaves it, and waits in it.
#
# usage: unshare --mount --propagation private sh _enter.sh ROOT PACKAGES
#
# An overlay keeps ROOT as it is. pivot_root, for in a chroot no user namespace can be made: user_namespaces(7). There
# is no /sys, so that nothing speaks to the AppArmor of the machine.
set -eu
root=$1 packages=$2

mount -t tmpfs -o mode=0755 tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
root=/mnt/root
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir "$root/tmp/packages" "$root/tmp/old"
cp "$packages"/*.deb "$root/tmp/packages/"
chmod -R a+rX "$root/tmp/packages"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"

cd "$root"
pivot_root . tmp/old
cd /
umount -l /tmp/old
rmdir /tmp/old
echo ready
exec cat

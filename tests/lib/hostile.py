"""What hostile programs share: attempts that say whether they were possible, and system calls by name.

ATTEMPTS goes before a program. attempt() prints one line, `LABEL OPEN` or `LABEL DENIED ERRNO`. FILTER is a program for
outside: it starts a command in a place where one system call is refused with one errno.
"""

# name, then its number on x86-64 and on the machines that share one table, such as aarch64; -1: there is none
NUMBERS = """
    accept4 288 242  acct 163 89  add_key 248 217  adjtimex 159 171  bpf 321 280  capget 125 90  capset 126 91
    chroot 161 51  clock_adjtime 305 266  clock_settime 227 112  clone 56 220  clone3 435 435  delete_module 176 106
    epoll_create 213 -1  execveat 322 281  faccessat2 439 439  fanotify_init 300 262  finit_module 313 273
    fsconfig 431 431  fsmount 432 432  fsopen 430 430  fspick 433 433  init_module 175 105
    inotify_init 253 -1  inotify_init1 294 26  io_setup 206 0  io_uring_enter 426 426  io_uring_register 427 427
    io_uring_setup 425 425  ioctl 16 29  ioperm 173 -1  iopl 172 -1  ioprio_set 251 30  kcmp 312 272
    kexec_file_load 320 294  kexec_load 246 104  keyctl 250 219  landlock_create_ruleset 444 444  listmount 458 458
    mbind 237 235  memfd_create 319 279  memfd_secret 447 447  migrate_pages 256 238  mlock 149 228  mlockall 151 230
    modify_ldt 154 -1  mount 165 40  mount_setattr 442 442  move_mount 429 429  move_pages 279 239  mq_open 240 180
    msgget 68 186  name_to_handle_at 303 264  nfsservctl 180 42  open_by_handle_at 304 265  open_tree 428 428
    openat2 437 437  perf_event_open 298 241  personality 135 92  pidfd_getfd 438 438  pidfd_send_signal 424 424
    pivot_root 155 41  pkey_alloc 330 289  prctl 157 167  process_madvise 440 440  process_mrelease 448 448
    process_vm_readv 310 270  process_vm_writev 311 271  ptrace 101 117  quotactl 179 60  quotactl_fd 443 443
    reboot 169 142  remap_file_pages 216 234  request_key 249 218  rt_sigqueueinfo 129 138  sched_setaffinity 203 122
    sched_setattr 314 274  sched_setparam 142 118  sched_setscheduler 144 119  seccomp 317 277  semget 64 190
    set_mempolicy 238 237  setdomainname 171 162  setfsgid 123 152  setfsuid 122 151  setgroups 116 159
    sethostname 170 161  setns 308 268  settimeofday 164 170  setuid 105 146  shmat 30 196  shmget 29 194  socket 41 198
    splice 275 76  statmount 457 457  swapoff 168 225  swapon 167 224  sync 162 81  syncfs 306 267  syslog 103 116
    tee 276 77  timer_create 222 107  timerfd_create 283 85  umount2 166 39  unshare 272 97  userfaultfd 323 282
    vhangup 153 58  vmsplice 278 75
"""

ATTEMPTS = r"""
import ctypes, errno, os, platform, sys
def attempt(label, f, *a, **k):
    try: f(*a, **k); print(label, "OPEN")
    except OSError as e: print(label, "DENIED", errno.errorcode.get(e.errno, e.errno))
    except Exception as e: print(label, "DENIED", type(e).__name__)
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = %r.split()
def call(name, *a):
    number = int(NUMBERS[NUMBERS.index(name) + (1 if platform.machine() == "x86_64" else 2)])
    r = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    if r < 0:
        raise OSError(ctypes.get_errno(), name)
    return r
""" % " ".join(NUMBERS.split())


# The filter of a container that refuses one call. Written with the kernel's own interface, so that nothing has to be
# installed; numbers by name from the machine's table.
FILTER = r"""
import ctypes, os, platform, struct, sys
numbers = {"unshare": (272, 97), "seccomp": (317, 277), "mount_setattr": (442, 442),
           "landlock_create_ruleset": (444, 444), "landlock_restrict_self": (446, 446)}
number, error = numbers[sys.argv[1]][platform.machine() == "aarch64"], int(sys.argv[2])
code = b"".join(struct.pack("=HBBI", *i) for i in (
    (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | error), (0x06, 0, 0, 0x7fff0000)))
buffer = ctypes.create_string_buffer(code, len(code))
program = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[3], sys.argv[3:])
"""

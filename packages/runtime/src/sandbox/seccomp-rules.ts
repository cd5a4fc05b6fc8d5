// What a box may ask of the kernel: names of system calls, and what is looked at in their arguments.

/** Errors of the kernel's interface. */
export const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;
export type Errno = (typeof errno)[keyof typeof errno];

/**
 * One look at the low half of an argument (all that are looked at are ints for the kernel). `none_of_bits`: allowed while
 * no bit of `values` is set. `one_of`, `not_one_of`: allowed by its value.
 */
export interface ArgRule {
  readonly name: string;
  /** 0 to 5. */
  readonly arg: number;
  readonly test: "one_of" | "not_one_of" | "none_of_bits";
  readonly values: readonly number[];
  readonly otherwise: Errno;
}

const names = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Always let through. Whatever is in no list gets ENOSYS, so that libraries fall back on what is older. */
export const allowed = names(`
  read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close close_range open openat openat2 creat
  lseek dup dup2 dup3 fcntl flock fsync fdatasync sync_file_range syncfs truncate ftruncate fallocate fadvise64 readahead
  sendfile splice tee vmsplice copy_file_range memfd_create
  stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents getdents64
  getcwd chdir fchdir mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat
  chmod fchmod fchmodat chown fchown lchown fchownat umask utime utimes utimensat futimesat mknod mknodat
  getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr
  removexattr lremovexattr fremovexattr
  inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
  poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
  eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime pipe pipe2
  mmap munmap mremap mprotect madvise mincore msync brk mlock mlock2 munlock mlockall munlockall membarrier
  pkey_alloc pkey_free pkey_mprotect
  fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal
  getpid getppid gettid getpgid getpgrp getsid setsid setpgid set_tid_address set_robust_list get_robust_list
  getuid geteuid getgid getegid getgroups getresuid getresgid setuid setgid setreuid setregid setresuid setresgid
  setgroups setfsuid setfsgid capget capset
  rt_sigaction rt_sigprocmask rt_sigpending rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo
  sigaltstack pause alarm getitimer setitimer restart_syscall
  nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times
  timer_create timer_delete timer_settime timer_gettime timer_getoverrun
  futex futex_waitv rseq arch_prctl prctl sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam
  sched_getscheduler sched_setscheduler sched_getattr sched_setattr sched_get_priority_max sched_get_priority_min
  sched_rr_get_interval getpriority setpriority getcpu
  getrlimit setrlimit prlimit64 getrusage sysinfo uname getrandom
  bind connect listen accept accept4 getsockname getpeername getsockopt setsockopt shutdown
  sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg
  shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
  landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp
`);

/** Known and refused: the error says "not permitted", since a tool that needs one of these needs another box. */
export const refused = names(`
  ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
  keyctl add_key request_key bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register
  mount umount2 pivot_root chroot move_mount open_tree fsopen fsmount fsconfig fspick mount_setattr unshare setns
  name_to_handle_at open_by_handle_at fanotify_init fanotify_mark quotactl quotactl_fd swapon swapoff
  init_module finit_module delete_module kexec_load kexec_file_load reboot sethostname setdomainname
  settimeofday clock_settime clock_adjtime adjtimex acct syslog vhangup iopl ioperm modify_ldt
  mbind set_mempolicy get_mempolicy migrate_pages move_pages lookup_dcookie
  mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
`);

/** Flags of clone that make a namespace: of mount, cgroup, uts, ipc, user, pid, net. */
const namespaceFlags = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;
const families = { unix: 1, inet: 2, inet6: 10 };

export const argRules: readonly ArgRule[] = [
  { name: "clone", arg: 0, test: "none_of_bits", values: [namespaceFlags], otherwise: errno.EPERM },
  // A network namespace does not hold AF_VSOCK back: it would reach the hypervisor. AF_NETLINK, AF_ALG and the rest have no use here.
  { name: "socket", arg: 0, test: "one_of", values: Object.values(families), otherwise: errno.EAFNOSUPPORT },
  { name: "socketpair", arg: 0, test: "one_of", values: [families.unix], otherwise: errno.EAFNOSUPPORT },
  // TIOCSTI and TIOCLINUX type into a terminal that somebody else reads; TIOCSETD loads line disciplines.
  { name: "ioctl", arg: 1, test: "not_one_of", values: [0x5412, 0x541c, 0x5423], otherwise: errno.EPERM },
  // Linux as it is, uname as 2.6, and the question which it is; never READ_IMPLIES_EXEC or no address randomisation.
  { name: "personality", arg: 0, test: "one_of", values: [0, 0x20000, 0xffffffff], otherwise: errno.EPERM },
];

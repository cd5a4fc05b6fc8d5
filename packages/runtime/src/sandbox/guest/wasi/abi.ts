// The numbers of WASI preview 1 that the guest speaks: error codes, kinds of file, layouts.

export const errno = {
  success: 0,
  badf: 8,
  fault: 21,
  inval: 28,
  io: 29,
  isdir: 31,
  mfile: 33,
  nametoolong: 37,
  noent: 44,
  nosys: 52,
  notdir: 54,
  notsup: 58,
  rofs: 69,
  spipe: 70,
  notcapable: 76,
} as const;
export type Errno = (typeof errno)[keyof typeof errno];

export const fileType = { characterDevice: 2, directory: 3, regularFile: 4 } as const;
export const openFlags = { create: 1, directory: 2, exclusive: 4, truncate: 8 } as const;
export const whence = { set: 0, current: 1, end: 2 } as const;
export const eventType = { clock: 0, fdRead: 1, fdWrite: 2 } as const;
export const clockAbsolute = 1;

/** Bits of the rights word that matter to programs that look: fd_read, fd_seek, fd_tell, fd_write, path_open, fd_readdir and the stats. */
export const rights = {
  read: 1n << 1n,
  seek: 1n << 2n,
  tell: 1n << 5n,
  write: 1n << 6n,
  pathOpen: 1n << 13n,
  readdir: 1n << 14n,
  pathStat: 1n << 18n,
  stat: 1n << 21n,
  poll: 1n << 27n,
} as const;

export const sizes = { iovec: 8, filestat: 64, fdstat: 24, dirent: 24, subscription: 48, event: 32 } as const;

/** Guards against a read or write that is made of millions of empty pieces. */
export const iovecsMax = 1_024;
/** Guards against a poll with millions of entries. */
export const subscriptionsMax = 1_024;

/** Every function of preview 1: what is not written here answers `nosys`, so that a module that only imports it still starts. */
export const preview1Names = [
  "args_get",
  "args_sizes_get",
  "environ_get",
  "environ_sizes_get",
  "clock_res_get",
  "clock_time_get",
  "fd_advise",
  "fd_allocate",
  "fd_close",
  "fd_datasync",
  "fd_fdstat_get",
  "fd_fdstat_set_flags",
  "fd_fdstat_set_rights",
  "fd_filestat_get",
  "fd_filestat_set_size",
  "fd_filestat_set_times",
  "fd_pread",
  "fd_prestat_dir_name",
  "fd_prestat_get",
  "fd_pwrite",
  "fd_read",
  "fd_readdir",
  "fd_renumber",
  "fd_seek",
  "fd_sync",
  "fd_tell",
  "fd_write",
  "path_create_directory",
  "path_filestat_get",
  "path_filestat_set_times",
  "path_link",
  "path_open",
  "path_readlink",
  "path_remove_directory",
  "path_rename",
  "path_symlink",
  "path_unlink_file",
  "poll_oneoff",
  "proc_exit",
  "proc_raise",
  "random_get",
  "sched_yield",
  "sock_accept",
  "sock_recv",
  "sock_send",
  "sock_shutdown",
] as const;
export type Preview1Name = (typeof preview1Names)[number];

/** Functions that would change a file: the whole tree is read-only, and they say so. */
export const writingNames: ReadonlySet<string> = new Set<Preview1Name>([
  "fd_allocate",
  "fd_filestat_set_size",
  "fd_filestat_set_times",
  "fd_pwrite",
  "path_create_directory",
  "path_filestat_set_times",
  "path_link",
  "path_remove_directory",
  "path_rename",
  "path_symlink",
  "path_unlink_file",
]);

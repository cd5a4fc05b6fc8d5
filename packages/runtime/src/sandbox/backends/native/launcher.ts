// The step between this process and bubblewrap: out of what is inherited, into the control group, onto a disk of its own.
import { unwantedCode as unwanted } from "./starters.ts";
import { fds } from "./types.ts";

/** Numbers of the calls that the launcher makes itself: Perl's own functions do not reach them. */
const calls = {
  x64: {
    close_range: 436,
    unshare: 272,
    mount: 165,
    prctl: 157,
    setrlimit: 160,
    setgroups: 116,
    setresgid: 119,
    setresuid: 117,
  },
  arm64: {
    close_range: 436,
    unshare: 97,
    mount: 40,
    prctl: 167,
    setrlimit: 164,
    setgroups: 159,
    setresgid: 149,
    setresuid: 147,
  },
} as const;

/**
 * One Perl process does what would be six (two shells, unshare, mount, install, setpriv), each of which costs a box one to
 * three milliseconds; perl-base is on every Debian. It begins before anybody knows what the box is for: what its parents
 * left open is closed, and it enters its control groups, for which the kernel takes some 10 ms. Then it waits for its order
 * on the descriptor on which bubblewrap will read its own arguments. No order = nobody wants it. The disk is mounted where
 * only this box sees it, and goes with the last of its processes. The last step is an exec, so that the process which was
 * started stays the one that is waited for.
 */
const program = (arch: keyof typeof calls): string => `use strict; use warnings;
my ($folder, $user, @entrances) = @ARGV;
my %nr = (${Object.entries(calls[arch])
  .map(([name, nr]) => `${name} => ${nr}`)
  .join(", ")});
sub fail { print STDERR "signalbox launcher: $_[0]: $!\\n"; exit 126 }
sub put { open(my $file, ">", $_[0]) or fail($_[0]); syswrite($file, $_[1]) or fail($_[0]); close($file) or fail($_[0]) }
sub call { my $name = shift; syscall($nr{$name}, @_) == -1 and fail($name) }
call("close_range", ${fds.go + 1}, 4294967295, 0);
$^F = 255;
open(my $order, "<&=", ${fds.args}) or fail("order");
put($_, $$) for @entrances;
sub take {
  my ($length, $bytes) = ($_[0], "");
  while (length($bytes) < $length) { sysread($order, $bytes, $length - length($bytes), length($bytes)) or exit ${unwanted} }
  return $bytes;
}
my ($size, $files, $cpu, @command) = split(/\\0/, take(take(8) + 0));
for ([4, 0], [7, $files], [0, $cpu]) { my $limit = pack("QQ", $_->[1], $_->[1]); call("setrlimit", $_->[0], $limit) }
my ($uid, $gid, $plain) = ($>, $) + 0, $user eq "-");
call("unshare", $plain ? 0x10020000 : 0x00020000);
if ($plain) {
  put("/proc/self/setgroups", "deny"); put("/proc/self/uid_map", "0 $uid 1"); put("/proc/self/gid_map", "0 $gid 1");
}
my ($root, $name, $type, $disk) = ("/", "signalbox", "tmpfs", "$folder/disk");
my $options = "size=$size,nr_inodes=65536,mode=0700" . ($plain ? "" : ",uid=$user,gid=$user");
call("mount", $name, $root, 0, 0x44000, 0);
call("mount", $name, $disk, $type, 6, $options);
umask 0;
for (map { "$disk/$_" } "workspace", "tmp", "shm") {
  mkdir($_, 0777) or fail("mkdir");
  $plain or chown($user + 0, $user + 0, $_) or fail("chown");
}
umask 022;
if (!$plain) {
  my $id = $user + 0;
  for (0 .. 63) { last if syscall($nr{prctl}, 24, $_, 0, 0, 0) == -1 }
  call("setgroups", 0, 0); call("setresgid", $id, $id, $id); call("setresuid", $id, $id, $id);
}
call("prctl", 38, 1, 0, 0, 0);
exec { "bwrap" } "bwrap", ${["--args", fds.args, "--seccomp", fds.filter, "--json-status-fd", fds.status, "--"]
  .map((each) => JSON.stringify(String(each)))
  .join(", ")}, @command or fail("bwrap");`;

/**
 * Arguments for `perl`.
 * @param uid null: an ordinary user, who has only his own
 */
export function launcherArgs(
  arch: keyof typeof calls,
  { folder, uid, entrances }: { folder: string; uid: number | null; entrances: readonly string[] },
): readonly string[] {
  return ["-e", program(arch), "--", folder, String(uid ?? "-"), ...entrances];
}

export interface Order {
  readonly diskBytes: number;
  readonly fdsMax: number;
  readonly cpuSeconds: number;
  readonly command: readonly string[];
  readonly boxArgs: readonly string[];
}

/** What the launcher waits for, and behind it what bubblewrap reads. No part may hold a zero byte. */
export function orderBytes({ diskBytes, fdsMax, cpuSeconds, command, boxArgs }: Order): Uint8Array {
  const parts = [...[diskBytes, fdsMax, cpuSeconds].map(String), ...command];
  if ([...parts, ...boxArgs].some((part) => part.includes("\0")))
    throw new Error("an argument of a box has a zero byte");
  const order = Buffer.from(parts.join("\0"));
  const rest = boxArgs.map((arg) => `${arg}\0`).join("");
  return Buffer.concat([Buffer.from(String(order.length).padStart(8, "0")), order, Buffer.from(rest)]);
}

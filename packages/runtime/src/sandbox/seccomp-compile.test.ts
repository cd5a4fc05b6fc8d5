// The filter says of every system call what the rules say, as the kernel would run it.
import { describe, expect, test } from "vitest";
import { answers, assembleSeccomp, bpf, compileSeccomp, type BpfInstruction } from "./seccomp-compile.ts";
import { allowed, argRules, refused } from "./seccomp-rules.ts";

/** Runs a program on one call's data as the kernel does; throws where the kernel would have refused to load it. */
function ask(program: readonly BpfInstruction[], arch: number, nr: number, args: readonly bigint[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(nr, 0);
  data.writeUInt32LE(arch, 4);
  args.forEach((arg, index) => data.writeBigUInt64LE(BigInt.asUintN(64, arg), 16 + 8 * index));
  let held = 0;
  for (let at = 0; at < program.length; at += 1) {
    const { code, jt, jf, k } = program[at] as BpfInstruction;
    if (code === 0x20) held = data.readUInt32LE(k);
    else if (code === 0x05) at += k;
    else if (code === 0x15) at += held === k ? jt : jf;
    else if (code === 0x35) at += held >= k ? jt : jf;
    else if (code === 0x45) at += (held & k) === 0 ? jf : jt;
    else if (code === 0x06) return k;
    else throw new Error(`no such instruction: ${code}`);
  }
  throw new Error("the program ends without an answer");
}

const x64 = 0xc000003e;
const arm64 = 0xc00000b7;
const [allow, eperm, enosys, noFamily, kill] = [0x7fff0000, 0x50001, 0x50026, 0x50061, 0x80000000];
const onX64 = compileSeccomp("x64");
const onArm = compileSeccomp("arm64");

describe("x64", () => {
  test.each<[string, number, number, bigint[]?]>([
    ["read", 0, allow],
    ["execve", 59, allow],
    ["openat", 257, allow],
    ["futex", 202, allow],
    ["ptrace", 101, eperm],
    ["mount", 165, eperm],
    ["keyctl", 250, eperm],
    ["bpf", 321, eperm],
    ["unshare", 272, eperm],
    ["setns", 308, eperm],
    ["io_uring_setup", 425, eperm],
    ["userfaultfd", 323, eperm],
    ["clone3", 435, enosys],
    ["uselib, in no list", 134, enosys],
    ["a call of the future", 999, enosys],
    ["x32 getpid", 0x4000_0000 + 39, enosys],
    ["clone as fork does it", 56, allow, [0x01200011n]],
    ["clone as a thread does it", 56, allow, [0x003d0f00n]],
    ["clone with a user namespace", 56, eperm, [0x10000011n]],
    ["clone with a mount namespace", 56, eperm, [0x00020000n]],
    ["clone with a cgroup namespace", 56, eperm, [0x02000000n]],
    ["socket AF_UNIX", 41, allow, [1n]],
    ["socket AF_INET", 41, allow, [2n]],
    ["socket AF_INET6", 41, allow, [10n]],
    ["socket AF_NETLINK", 41, noFamily, [16n]],
    ["socket AF_PACKET", 41, noFamily, [17n]],
    ["socket AF_ALG", 41, noFamily, [38n]],
    ["socket AF_VSOCK", 41, noFamily, [40n]],
    ["socket AF_UNSPEC", 41, noFamily, [0n]],
    ["socket AF_VSOCK with bits above, which the kernel drops", 41, noFamily, [0x1_0000_0028n]],
    ["socketpair AF_UNIX", 53, allow, [1n]],
    ["socketpair AF_INET", 53, noFamily, [2n]],
    ["ioctl TCGETS", 16, allow, [0n, 0x5401n]],
    ["ioctl TIOCSTI", 16, eperm, [0n, 0x5412n]],
    ["ioctl TIOCSTI with bits above, which the kernel drops", 16, eperm, [0n, 0xffff_ffff_0000_5412n]],
    ["ioctl TIOCLINUX", 16, eperm, [0n, 0x541cn]],
    ["personality as it is", 135, allow, [0n]],
    ["personality, the question", 135, allow, [0xffffffffn]],
    ["personality without random addresses", 135, eperm, [0x40000n]],
  ])("%s", (_, nr, answer, args) => {
    expect(ask(onX64, x64, nr, args)).toBe(answer);
  });

  test("another architecture's call ends the process", () => {
    expect(ask(onX64, 0x40000003, 1)).toBe(kill);
    expect(ask(onX64, arm64, 64)).toBe(kill);
  });
});

test.each<[string, number, number, bigint[]?]>([
  ["openat", 56, allow],
  ["ptrace", 117, eperm],
  ["keyctl", 219, eperm],
  ["clone as fork does it", 220, allow, [0x01200011n]],
  ["clone with a network namespace", 220, eperm, [0x40000000n]],
  ["socket AF_VSOCK", 198, noFamily, [40n]],
  ["socket AF_INET", 198, allow, [2n]],
  ["clone3", 435, enosys],
])("arm64: %s", (_, nr, answer, args) => {
  expect(ask(onArm, arm64, nr, args)).toBe(answer);
});

test("every number up to 600 has one of the four answers, and as many are allowed as there are names", () => {
  const said = Array.from({ length: 600 }, (_, nr) => ask(onX64, x64, nr, [0n, 0n]));
  expect(new Set(said)).toEqual(new Set([allow, eperm, enosys, noFamily]));
  // Beside the names: clone, ioctl and personality, which take 0.
  const x64Only = said.filter((each) => each === allow).length;
  expect(x64Only).toBe(allowed.length + 3);
});

test("the lists have no name twice", () => {
  const names = [...allowed, ...refused, ...argRules.map(({ name }) => name)];
  expect(names.length).toBe(new Set(names).size);
});

test("the program is small, and stands in memory as the kernel reads it", () => {
  expect(onX64.length).toBeLessThan(400);
  expect([...assembleSeccomp([{ code: bpf.ifEqual, jt: 1, jf: 2, k: 0xc000003e }])]).toEqual([
    0x15, 0, 1, 2, 0x3e, 0, 0, 0xc0,
  ]);
  expect(answers.allow).toBe(allow);
});

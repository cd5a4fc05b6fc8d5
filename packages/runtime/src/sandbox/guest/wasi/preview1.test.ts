// The WASI functions by themselves: what a module may ask, and what it is answered when it asks for more.
import { describe, expect, test } from "vitest";
import { errno } from "./abi.ts";
import { createPreview1, GuestExit } from "./preview1.ts";
import type { Preview1Ports } from "./ports.ts";
import type { TreeDir, TreeFile, TreeNode } from "../tree.ts";

const file = (text: string): TreeFile => ({ kind: "file", sizeBytes: text.length, read: () => Buffer.from(text) });
const dir = (entries: Readonly<Record<string, TreeNode>>): TreeDir => ({
  kind: "dir",
  entries: new Map(Object.entries(entries)),
});

type Call = (...numbers: (number | bigint)[]) => number;

function guest(ports: Partial<Preview1Ports> = {}) {
  const memory = new ArrayBuffer(65_536);
  const written: [number, string][] = [];
  const slept: number[] = [];
  const functions = createPreview1({
    memory: () => memory,
    input: Buffer.from("question"),
    args: ["tool.wasm"],
    env: { LANG: "C" },
    folders: {
      package: dir({ "p.txt": file("package") }),
      workspace: dir({ "w.txt": file("workspace"), inner: dir({ "i.txt": file("inner") }) }),
    },
    write: (fd, bytes) => void written.push([fd, Buffer.from(bytes).toString()]),
    wallMs: () => 1_700_000_000_123.9,
    monotonicMs: () => 5.75,
    random: (into) => void into.fill(7),
    sleep: (ms) => void slept.push(ms),
    ...ports,
  });
  const view = new DataView(memory);
  const call = (name: string, ...numbers: (number | bigint)[]): number => {
    const found = functions[name] as unknown as Call;
    return found(...numbers);
  };
  const put = (at: number, text: string): [number, number] => {
    Buffer.from(memory).write(text, at);
    return [at, Buffer.byteLength(text)];
  };
  const open = (fd: number, path: string, flags = 0, rights = 2n): number =>
    call("path_open", fd, 0, ...put(1_000, path), flags, rights, 0n, 0, 900);
  const text = (at: number, length: number): string => Buffer.from(memory, at, length).toString();
  const read = (fd: number, length: number): string => {
    view.setUint32(0, 2_000, true);
    view.setUint32(4, length, true);
    const code = call("fd_read", fd, 0, 1, 8);
    return code === 0 ? text(2_000, view.getUint32(8, true)) : `error ${code}`;
  };
  return { call, put, open, text, read, view, written, slept };
}

describe("streams", () => {
  test("the input is read in pieces, to its end", () => {
    const { read } = guest();
    expect([read(0, 5), read(0, 100), read(0, 5)]).toEqual(["quest", "ion", ""]);
  });
  test("what is written to 1 to 4 comes out, and nothing else can be written to", () => {
    const { call, put, view, written } = guest();
    const [at, length] = put(100, "hi");
    view.setUint32(0, at, true);
    view.setUint32(4, length, true);
    expect([1, 2, 3, 4].map((fd) => call("fd_write", fd, 0, 1, 8))).toEqual([0, 0, 0, 0]);
    expect(written).toEqual([
      [1, "hi"],
      [2, "hi"],
      [3, "hi"],
      [4, "hi"],
    ]);
    expect([call("fd_write", 0, 0, 1, 8), call("fd_write", 9, 0, 1, 8)]).toEqual([errno.badf, errno.badf]);
  });
  test("pieces without number are refused", () => {
    expect(guest().call("fd_write", 1, 0, 1_025, 8)).toBe(errno.inval);
    expect(guest().call("fd_write", 1, 0, -1, 8)).toBe(errno.inval);
  });
});

describe("folders", () => {
  test("descriptors 3 and 4 are /package and /workspace, 5 is none", () => {
    const { call, text, view } = guest();
    const names = [3, 4].map((fd) => {
      expect(call("fd_prestat_get", fd, 0)).toBe(0);
      expect(call("fd_prestat_dir_name", fd, 100, view.getUint32(4, true))).toBe(0);
      return text(100, view.getUint32(4, true));
    });
    expect(names).toEqual(["/package", "/workspace"]);
    expect(call("fd_prestat_get", 5, 0)).toBe(errno.badf);
    expect(call("fd_prestat_get", 0, 0)).toBe(errno.badf);
  });
  test("a file is opened, read, told and sought", () => {
    const { open, read, call, view } = guest();
    expect(open(4, "w.txt")).toBe(0);
    const fd = view.getUint32(900, true);
    expect(fd).toBe(5);
    expect(read(fd, 4)).toBe("work");
    expect(call("fd_seek", fd, -5n, 2, 16)).toBe(0);
    expect(read(fd, 100)).toBe("space");
    expect(call("fd_seek", fd, -1n, 0, 16)).toBe(errno.inval);
    expect(call("fd_close", fd)).toBe(0);
    expect(read(fd, 1)).toBe(`error ${errno.badf}`);
  });
  test("nothing is written, made or removed", () => {
    const { open, call, put } = guest();
    expect(open(4, "new.txt", 1)).toBe(errno.rofs);
    expect(open(4, "w.txt", 8)).toBe(errno.rofs);
    expect(open(4, "w.txt", 0, 64n)).toBe(errno.rofs);
    expect(call("path_unlink_file", 4, ...put(0, "w.txt"))).toBe(errno.rofs);
    expect(call("path_create_directory", 4, ...put(0, "d"))).toBe(errno.rofs);
    expect(call("path_symlink", ...put(0, "/etc"), 4, ...put(50, "l"))).toBe(errno.rofs);
    expect(call("path_rename", 4, ...put(0, "w.txt"), 4, ...put(50, "x"))).toBe(errno.rofs);
  });
  test.each([
    ["../w.txt", errno.notcapable],
    ["/etc/passwd", errno.notcapable],
    ["inner/../../p.txt", errno.notcapable],
    ["w.txt/", errno.notdir],
    ["w.txt/x", errno.notdir],
    ["absent", errno.noent],
    ["w.txt\0", errno.noent],
  ])("%j is answered with %i", (path, code) => {
    expect(guest().open(4, path)).toBe(code);
  });
  test("a folder below is opened; above it stands the workspace, above that nothing", () => {
    const { open, view } = guest();
    expect(open(4, "inner", 2)).toBe(0);
    const fd = view.getUint32(900, true);
    expect([open(fd, "i.txt"), open(fd, "../w.txt"), open(fd, "../../w.txt")]).toEqual([0, 0, errno.notcapable]);
  });
  test("opening stops at 256", () => {
    const { open } = guest();
    const codes = Array.from({ length: 260 }, () => open(4, "w.txt"));
    expect(codes.filter((code) => code === 0)).toHaveLength(251);
    expect(codes.at(-1)).toBe(errno.mfile);
  });
  test("a folder is listed, and a buffer that is too small is filled to its end", () => {
    const { call, view, text } = guest();
    expect(call("fd_readdir", 4, 100, 1_000, 2n, 0)).toBe(0);
    expect(view.getUint32(0, true)).toBe(24 + 5 + 24 + 5);
    expect(text(124, 5)).toBe("w.txt");
    expect(text(153, 5)).toBe("inner");
    expect(call("fd_readdir", 4, 100, 30, 0n, 0)).toBe(0);
    expect(view.getUint32(0, true)).toBe(30);
  });
});

describe("clocks", () => {
  test("show whole milliseconds", () => {
    const { call, view } = guest();
    expect([call("clock_time_get", 0, 1n, 0), call("clock_time_get", 1, 1n, 8)]).toEqual([0, 0]);
    expect([view.getBigUint64(0, true), view.getBigUint64(8, true)]).toEqual([1_700_000_000_123_000_000n, 5_000_000n]);
    expect(call("clock_time_get", 9, 1n, 0)).toBe(errno.inval);
  });
  test("a poll for a clock sleeps, for the nearest one, and a day at most", () => {
    const { call, view, slept } = guest();
    view.setUint32(16, 1, true);
    view.setBigUint64(24, 20_000_000n, true);
    view.setUint32(48 + 16, 1, true);
    view.setBigUint64(48 + 24, 10_500_000n, true);
    view.setBigUint64(48, 42n, true);
    expect(call("poll_oneoff", 0, 200, 2, 400)).toBe(0);
    expect(slept).toEqual([11]);
    expect([view.getUint32(400, true), view.getBigUint64(200, true)]).toEqual([1, 42n]);
    view.setBigUint64(24, 2n ** 63n, true);
    expect(call("poll_oneoff", 0, 200, 1, 400)).toBe(0);
    expect(slept).toEqual([11, 86_400_000]);
    expect(call("poll_oneoff", 0, 200, 1_000_000, 400)).toBe(errno.inval);
  });
});

describe("a module's mistakes", () => {
  test.each([
    ["fd_read", [0, 65_530, 1, 8]],
    ["fd_write", [1, 0xffff_fff0, 1, 8]],
    ["random_get", [0, 0x7fff_ffff]],
    ["random_get", [-1, 10]],
    ["args_get", [65_535, 0]],
    ["environ_get", [0, 65_535]],
    ["clock_time_get", [0, 1n, 65_530]],
    ["path_open", [4, 0, 65_000, 1_000, 0, 2n, 0n, 0, 0]],
    ["fd_readdir", [4, 65_530, 100, 0n, 0]],
  ])("%s with a pointer out of its memory is a fault", (name, numbers) => {
    expect(guest().call(name, ...numbers)).toBe(errno.fault);
  });
  test("what is not there says so", () => {
    expect(guest().call("sock_send", 1, 0, 1, 0, 0)).toBe(errno.nosys);
  });
});

test("arguments and environment are those that were given", () => {
  const { call, view, text } = guest();
  expect([call("args_sizes_get", 0, 4), call("environ_sizes_get", 8, 12)]).toEqual([0, 0]);
  expect([0, 4, 8, 12].map((at) => view.getUint32(at, true))).toEqual([1, 10, 1, 7]);
  expect([call("args_get", 0, 100), call("environ_get", 0, 200)]).toEqual([0, 0]);
  expect([text(100, 10), text(200, 7)]).toEqual(["tool.wasm\0", "LANG=C\0"]);
});

test("an exit is told again to whoever swallowed it, and the first code counts", () => {
  const { call } = guest();
  const codeOf = (name: string, ...numbers: number[]): number => {
    try {
      return -call(name, ...numbers);
    } catch (error) {
      return error instanceof GuestExit ? error.code : Number.NaN;
    }
  };
  expect([codeOf("sched_yield"), codeOf("proc_exit", 3), codeOf("sched_yield"), codeOf("proc_exit", 0)]).toEqual([
    -0, 3, 3, 3,
  ]);
});

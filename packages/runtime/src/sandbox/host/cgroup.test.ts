// Control groups in each mode: found by trying, limits written, counts read; version 2 on a folder that stands for the kernel's.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { heldLimits } from "../limits.ts";
import { Cgroup } from "./cgroup.ts";
import { findCgroups } from "./cgroup-layout.ts";

let mount = "";
beforeEach(() => void (mount = mkdtempSync(join(tmpdir(), "signalbox-cgroup-"))));
afterEach(() => rmSync(mount, { recursive: true, force: true }));

const held = heldLimits({
  cpu: 0.5,
  cpuSeconds: 2,
  memoryBytes: 64 * 1_048_576,
  diskBytes: 1_048_576,
  pids: 10,
  fds: 100,
  timeoutMs: 1_000,
  graceMs: 0,
  outputBytes: 1_000,
  resultBytes: 1_000,
  egressBytes: 0,
});

function v2(): { mode: "v2"; base: string } {
  writeFileSync(join(mount, "cgroup.controllers"), "cpuset cpu io memory pids\n");
  writeFileSync(join(mount, "cgroup.subtree_control"), "cpu memory pids\n");
  writeFileSync(join(mount, "self"), "0::/\n");
  const owner = "signalbox-1-2-3";
  mkdirSync(join(mount, owner));
  // The kernel makes these with the folder.
  writeFileSync(join(mount, owner, "cgroup.subtree_control"), "");
  const layout = findCgroups({ mount, self: join(mount, "self"), owner });
  if (layout.mode !== "v2") throw new Error(JSON.stringify(layout));
  return layout;
}

test("version 2: controllers are handed down, limits stand in their files", () => {
  const { base } = v2();
  expect(base).toBe(join(mount, "signalbox-1-2-3"));
  expect(readFileSync(join(base, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids +cpu");
  const group = Cgroup.create({ mode: "v2", base }, "b1");
  group.limit(held);
  group.limitCpu(held);
  const file = (name: string): string => readFileSync(join(base, "b1", name), "utf8");
  // 64 MiB, 1 MiB, and one page.
  expect(file("memory.max")).toBe("68161536");
  expect(file("memory.swap.max")).toBe("0");
  expect(file("pids.max")).toBe("12");
  expect(file("cpu.max")).toBe("50000 100000");
  expect(group.entrances).toEqual([join(base, "b1", "cgroup.procs")]);
});

test("version 2: what the kernel counted, a grandchild's death included", () => {
  const { base } = v2();
  const group = Cgroup.create({ mode: "v2", base }, "b1");
  const put = (name: string, text: string): void => writeFileSync(join(base, "b1", name), text);
  put("memory.events", "low 0\nhigh 0\nmax 41\noom 1\noom_kill 1\noom_group_kill 0\n");
  put("pids.events", "max 7\n");
  put("cpu.stat", "usage_usec 1500000\nuser_usec 1\n");
  put("memory.current", "4096\n");
  put("memory.peak", "8192\n");
  put("memory.stat", "anon 1234\nfile 99999\nshmem 77\n");
  expect(group.counts()).toEqual({ oomKills: 1, pidsRefused: 7, cpuMs: 1_500, chargedBytes: 4_096, peakBytes: 8_192 });
  expect(group.processBytes()).toBe(1_234);
  group.kill();
  expect(readFileSync(join(base, "b1", "cgroup.kill"), "utf8")).toBe("1");
});

test("version 2: a kernel that does not tell the peak", () => {
  const { base } = v2();
  expect(Cgroup.create({ mode: "v2", base }, "b1").counts()).toEqual({
    oomKills: 0,
    pidsRefused: 0,
    cpuMs: 0,
    chargedBytes: 0,
    peakBytes: null,
  });
});

test("version 2 without the controllers that are needed is none", () => {
  writeFileSync(join(mount, "cgroup.controllers"), "cpuset hugetlb\n");
  writeFileSync(join(mount, "self"), "0::/\n");
  expect(findCgroups({ mount, self: join(mount, "self"), owner: "o" })).toEqual({
    mode: "none",
    reason: `no control groups below ${mount}`,
  });
});

test("version 1: limits stand in one tree each", () => {
  for (const tree of ["memory", "pids", "cpu,cpuacct"]) mkdirSync(join(mount, tree));
  mkdirSync(join(mount, "cpu"));
  mkdirSync(join(mount, "cpuacct"));
  const layout = findCgroups({ mount, self: join(mount, "self"), owner: "o" });
  expect(layout).toMatchObject({ mode: "v1", kill: null });
  if (layout.mode === "none") return;
  const group = Cgroup.create(layout, "b1");
  group.limit(held);
  group.limitCpu(held);
  const file = (path: string): string => readFileSync(join(mount, path), "utf8");
  expect(file("memory/o/b1/memory.limit_in_bytes")).toBe("68161536");
  expect(file("pids/o/b1/pids.max")).toBe("12");
  expect(file("cpu/o/b1/cpu.cfs_quota_us")).toBe("50000");
  writeFileSync(join(mount, "memory/o/b1/memory.oom_control"), "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  writeFileSync(join(mount, "cpuacct/o/b1/cpuacct.usage"), "2500000\n");
  expect(group.counts()).toMatchObject({ oomKills: 2, cpuMs: 2.5 });
});

test("no control groups at all", () => {
  expect(findCgroups({ mount, self: join(mount, "self"), owner: "o" })).toEqual({
    mode: "none",
    reason: `no control groups below ${mount}`,
  });
});

// Conformance: a workspace is a table of paths, each project's its own; its guards see what the commit sees.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { WorkspaceFile } from "../../packages/runtime/src/ledger/workspace.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { dayStart } from "./ledger-rows.ts";

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const one = digest("1");
const two = digest("2");

const place = (path: string, tenant = "acme", project = "shop") => ({ tenant, project, path });

function file(path: string, fields: Partial<WorkspaceFile> = {}): WorkspaceFile {
  return { ...place(path), digest: one, bytes: 5, updatedAt: dayStart, callId: "exec_1", ...fields };
}

const put = (row: WorkspaceFile, filesMax = 100): Write => ({ op: "put_workspace_file", row, filesMax });
const room = (path: string, tenant?: string, project?: string): Write => ({
  op: "expect_workspace_room",
  place: place(path, tenant, project),
});
const expectFile = (path: string, known: string | null, callId = "exec_9"): Write => ({
  op: "expect_workspace_file",
  place: place(path),
  digest: known,
  callId,
});

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });

async function paths(ledger: Ledger, prefix = "", after = "", limit = 100): Promise<unknown> {
  const page = await ledger.workspaceFiles({ tenant: "acme", project: "shop", prefix, after }, limit);
  return [...page.items.map(({ path }) => path), ...(page.more ? ["…"] : [])];
}

export function workspaceCases(ledgerCase: LedgerCase): void {
  ledgerCase("a file comes back as it was put last, also after a reopening", async ({ ledger, reopen }) => {
    const first = file("a/grüße ☂.txt");
    const second = { ...first, digest: two, bytes: 0, updatedAt: dayStart + 1, callId: "exec_2" };
    expect(await commit(ledger, put(first))).toEqual({ applied: true });
    expect(await ledger.workspaceFile(place("a/grüße ☂.txt"))).toEqual(first);
    expect(await commit(ledger, put(second))).toEqual({ applied: true });
    const reopened = await reopen();
    expect(await reopened.workspaceFile(place("a/grüße ☂.txt"))).toEqual(second);
    expect(await reopened.workspaceFile(place("a"))).toBeUndefined();
    expect(await paths(reopened)).toEqual(["a/grüße ☂.txt"]);
  });

  ledgerCase("a path of another project, another tenant or another case is another file", async ({ ledger }) => {
    const rows = [file("a"), file("A"), file("a", { project: "ops" }), file("a", { tenant: "globex" })];
    await commit(ledger, ...rows.map((row, at) => put({ ...row, bytes: at })));
    await commit(ledger, { op: "remove_workspace_file", place: place("a") });
    expect(await ledger.workspaceFile(place("a"))).toBeUndefined();
    expect((await ledger.workspaceFile(place("A")))?.bytes).toBe(1);
    expect((await ledger.workspaceFile(place("a", "acme", "ops")))?.bytes).toBe(2);
    expect((await ledger.workspaceFile(place("a", "globex")))?.bytes).toBe(3);
    expect(await paths(ledger)).toEqual(["A"]);
  });

  ledgerCase("what is removed is gone, twice over", async ({ ledger }) => {
    await commit(ledger, put(file("a")));
    for (let time = 0; time < 2; time += 1) {
      expect(await commit(ledger, { op: "remove_workspace_file", place: place("a") })).toEqual({ applied: true });
      expect(await paths(ledger)).toEqual([]);
    }
  });

  ledgerCase("a write rests on what the path names, or on being the same call's", async ({ ledger }) => {
    const changed = put(file("a", { digest: two, callId: "exec_2" }));
    expect(await commit(ledger, expectFile("a", one), changed)).toEqual({ applied: false, write: 0 });
    expect(await commit(ledger, expectFile("a", null), put(file("a")))).toEqual({ applied: true });
    expect(await commit(ledger, expectFile("a", null), changed)).toEqual({ applied: false, write: 0 });
    expect(await commit(ledger, expectFile("a", two), changed)).toEqual({ applied: false, write: 0 });
    expect((await ledger.workspaceFile(place("a")))?.digest).toBe(one);
    expect(await commit(ledger, expectFile("a", one), changed)).toEqual({ applied: true });
    expect(await commit(ledger, expectFile("a", one, "exec_2"), changed)).toEqual({ applied: true });
    expect(await commit(ledger, expectFile("a", one, "exec_3"), changed)).toEqual({ applied: false, write: 0 });
  });

  ledgerCase("of two writes on the same ground, in one group, one is kept", async ({ ledger }) => {
    const outcomes = await Promise.all([
      commit(ledger, expectFile("a", null, "exec_1"), put(file("a"))),
      commit(ledger, expectFile("a", null, "exec_2"), put(file("a", { digest: two, callId: "exec_2" }))),
    ]);
    expect(outcomes).toEqual([{ applied: true }, { applied: false, write: 0 }]);
    expect((await ledger.workspaceFile(place("a")))?.digest).toBe(one);
  });

  ledgerCase("no path is a file and a folder", async ({ ledger }) => {
    await commit(ledger, put(file("a/b/c")));
    const taken = { applied: false, write: 0 };
    for (const path of ["a", "a/b", "a/b/c/d", "a/b/c/d/e"])
      expect(await commit(ledger, room(path), put(file(path)))).toEqual(taken);
    // Beside the folder, and names that begin like it.
    for (const path of ["a/b/c", "a/b/d", "a/b-", "a/b0", "a/bc", "a.b", "A", "k-", "k0", "kä", "k"])
      expect(await commit(ledger, room(path), put(file(path)))).toEqual({ applied: true });
    expect(await commit(ledger, room("a", "acme", "ops"))).toEqual({ applied: true });
    expect(await commit(ledger, room("a", "globex"))).toEqual({ applied: true });
  });

  ledgerCase("a project has so many files and no more; what is there can be changed", async ({ ledger }) => {
    expect(await commit(ledger, put(file("a"), 2), put(file("b"), 2))).toEqual({ applied: true });
    expect(await commit(ledger, put(file("c"), 2))).toEqual({ applied: false, write: 0 });
    expect(await commit(ledger, put(file("b", { digest: two }), 2))).toEqual({ applied: true });
    expect(await commit(ledger, put(file("c", { project: "ops" }), 2))).toEqual({ applied: true });
    await commit(ledger, { op: "remove_workspace_file", place: place("a") });
    expect(await commit(ledger, put(file("c"), 2))).toEqual({ applied: true });
    expect(await paths(ledger)).toEqual(["b", "c"]);
  });

  ledgerCase("a refused unit leaves nothing of its other writes", async ({ ledger }) => {
    expect(await commit(ledger, put(file("a")), expectFile("b", one))).toEqual({ applied: false, write: 1 });
    expect(await paths(ledger)).toEqual([]);
  });

  ledgerCase("lists go by the bytes of paths, by prefix, page by page", async ({ ledger }) => {
    const all = ["B", "a%b", "a/1", "a/2", "a_b", "ab", "b", "ä", "\u{10ffff}"];
    await commit(ledger, ...[...all].reverse().map((path) => put(file(path))));
    // What sorts behind every character of a path is none itself.
    expect(await paths(ledger)).toEqual(all.slice(0, -1));
    expect(await paths(ledger, "a")).toEqual(["a%b", "a/1", "a/2", "a_b", "ab"]);
    expect(await paths(ledger, "a/")).toEqual(["a/1", "a/2"]);
    expect(await paths(ledger, "a%")).toEqual(["a%b"]);
    expect(await paths(ledger, "", "", 3)).toEqual(["B", "a%b", "a/1", "…"]);
    expect(await paths(ledger, "", "a/1", 3)).toEqual(["a/2", "a_b", "ab", "…"]);
    expect(await paths(ledger, "", "ab", 2)).toEqual(["b", "ä"]);
    expect(await paths(ledger, "a", "a/15", 1)).toEqual(["a/2", "…"]);
    expect(await paths(ledger, "c")).toEqual([]);
  });
}

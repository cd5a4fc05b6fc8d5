// What is remembered of a tool never outlives a change of it, at whatever moment the change comes.
import { expect, test } from "vitest";
import { ToolMemory, type ToolReads } from "./tool-memory.ts";
import type { ListedVersion, ToolRecord, ToolStatus, ToolVersion } from "./types.ts";

/** One tool with one version; a read sees the state of the moment in which it begins. */
class OneTool implements ToolReads {
  status: ToolStatus = "active";
  activeVersion: string | null = null;
  reads = 0;

  async tool(tenant: string, tool: string): Promise<ToolRecord | undefined> {
    this.reads++;
    return { tenant, tool, activeVersion: this.activeVersion } as ToolRecord;
  }
  async toolVersion(tenant: string, tool: string, version: string): Promise<ToolVersion | undefined> {
    this.reads++;
    return { tenant, tool, version, status: this.status } as ToolVersion;
  }
  async toolVersions(): Promise<readonly ListedVersion[]> {
    this.reads++;
    return [{ version: "1.0.0", status: this.status }];
  }
}

type Look = (memory: ToolMemory) => Promise<unknown>;
const looks: readonly (readonly [what: string, look: Look, before: unknown, after: unknown])[] = [
  ["the record", async (memory) => (await memory.record("acme", "pay"))?.activeVersion, null, "1.0.0"],
  ["a version", async (memory) => (await memory.version("acme", "pay", "1.0.0"))?.status, "active", "deprecated"],
  ["the list", async (memory) => (await memory.versions("acme", "pay"))[0]?.status, "active", "deprecated"],
  ["a pick", async (memory) => (await memory.pick("acme", "pay", "^1.0.0")).ok, true, true],
];

function made(): { readonly books: OneTool; readonly memory: ToolMemory } {
  const books = new OneTool();
  return { books, memory: new ToolMemory(books, { toolsMax: 9, versionsMax: 9, listedMax: 9, picksMax: 9 }) };
}

function change(books: OneTool): void {
  books.status = "deprecated";
  books.activeVersion = "1.0.0";
}

test.each(looks)("%s is read once, and again after a change", async (_, look, before, after) => {
  const { books, memory } = made();
  expect([await look(memory), await look(memory)]).toEqual([before, before]);
  expect(books.reads).toBe(1);
  change(books);
  memory.forget("acme", "ship");
  expect(await look(memory)).toBe(before);
  expect(books.reads).toBe(1);
  memory.forget("acme", "pay");
  expect([await look(memory), await look(memory)]).toEqual([after, after]);
  expect(books.reads).toBe(2);
});

test.each(looks)("%s that was on its way while the tool changed is not kept", async (_, look, before, after) => {
  const { books, memory } = made();
  const onItsWay = look(memory);
  change(books);
  memory.forget("acme", "pay");
  expect(await onItsWay).toBe(before);
  expect(await look(memory)).toBe(after);
  expect(books.reads).toBe(2);
});

test("what the old state leaves behind does not push the new one out", async () => {
  const { books, memory } = made();
  const onItsWay = memory.version("acme", "pay", "1.0.0");
  change(books);
  memory.forget("acme", "pay");
  expect((await memory.version("acme", "pay", "1.0.0"))?.status).toBe("deprecated");
  await onItsWay;
  expect((await memory.version("acme", "pay", "1.0.0"))?.status).toBe("deprecated");
});

// Names and wishes to pinned versions: own tools first, pins before the active version, nothing quarantined, nothing stale.
import { describe, expect, test } from "vitest";
import { ToolResolver, type RegistryReads, type Resolution } from "./resolve.ts";
import type { ListedVersion, ProjectTool, ToolPin, ToolRecord, ToolStatus, ToolVersion } from "./types.ts";

interface Shelf {
  readonly active: string | null;
  readonly versions: Readonly<Record<string, ToolStatus>>;
}

class Books implements RegistryReads {
  /** `tenant/tool` → what there is of it. */
  readonly shelf: Record<string, Shelf>;
  /** `tenant/tool` → pin. */
  readonly pins: Record<string, string> = {};
  /** `tenant/project/tool` → whether it may be used. */
  readonly projects: Record<string, boolean> = {};
  readonly asked: string[] = [];
  failing = false;

  constructor(shelf: Readonly<Record<string, Shelf>>) {
    this.shelf = { ...shelf };
  }

  #note(what: string): void {
    this.asked.push(what);
    if (this.failing) throw new Error("the store is away");
  }
  #record(key: string): ToolRecord | undefined {
    const [tenant, tool] = key.split("/");
    const found = this.shelf[key];
    return found === undefined ? undefined : ({ tenant, tool, activeVersion: found.active } as ToolRecord);
  }

  async tool(tenant: string, tool: string): Promise<ToolRecord | undefined> {
    this.#note(`tool ${tenant}/${tool}`);
    return this.#record(`${tenant}/${tool}`);
  }
  async toolVersion(tenant: string, tool: string, version: string): Promise<ToolVersion | undefined> {
    this.#note(`version ${tenant}/${tool}@${version}`);
    const status = this.shelf[`${tenant}/${tool}`]?.versions[version];
    return status === undefined ? undefined : ({ tenant, tool, version, status } as ToolVersion);
  }
  async toolVersions(tenant: string, tool: string): Promise<readonly ListedVersion[]> {
    this.#note(`versions ${tenant}/${tool}`);
    return Object.entries(this.shelf[`${tenant}/${tool}`]?.versions ?? {}).map(([version, status]) => ({
      version,
      status,
    }));
  }
  async listTools(tenant: string): Promise<{ readonly items: readonly ToolRecord[] }> {
    this.#note(`list ${tenant}`);
    const keys = Object.keys(this.shelf).filter((key) => key.startsWith(`${tenant}/`));
    return { items: keys.flatMap((key) => this.#record(key) ?? []) };
  }
  async toolPins(tenant: string): Promise<readonly ToolPin[]> {
    this.#note(`pins ${tenant}`);
    const rows = Object.entries(this.pins).map(([key, requested]) => ({ key: key.split("/"), requested }));
    return rows
      .filter(({ key }) => key[0] === tenant)
      .map(({ key, requested }) => ({ tenant, tool: key[1], requested }) as ToolPin);
  }
  async projectTools(tenant: string): Promise<readonly ProjectTool[]> {
    this.#note(`projects ${tenant}`);
    const rows = Object.entries(this.projects).map(([key, enabled]) => ({ key: key.split("/"), enabled }));
    return rows
      .filter(({ key }) => key[0] === tenant)
      .map(({ key, enabled }) => ({ tenant, project: key[1], tool: key[2], enabled }) as ProjectTool);
  }
}

const shelf: Readonly<Record<string, Shelf>> = {
  "platform/http.request": {
    active: "1.2.0",
    versions: {
      "1.0.0": "deprecated",
      "1.2.0": "active",
      "1.3.0": "active",
      "1.4.0-rc.1": "active",
      "2.0.0": "quarantined",
    },
  },
  "platform/echo": { active: "1.0.0", versions: { "1.0.0": "active", "2.0.0": "active" } },
  "acme/echo": { active: null, versions: { "0.9.0": "active", "0.8.0": "active" } },
  "beta/secret.tool": { active: "1.0.0", versions: { "1.0.0": "active" } },
};

const all = (): boolean => true;

/** `acme echo@1.0.0` for what runs, else the reason and what it names. */
function said(found: Resolution): string {
  if (found.ok) return `${found.version.tenant} ${found.version.version}`;
  if (found.reason === "quarantined") return `quarantined ${found.version.version}`;
  return found.reason === "disabled" ? `disabled ${found.version.version}` : found.reason;
}

test.each([
  ["acme", "http.request", "", "platform 1.2.0"],
  ["acme", "http.request", "^1.2.0", "platform 1.3.0"],
  ["acme", "http.request", "1.0.0", "platform 1.0.0"],
  ["acme", "http.request", "1.4.0-rc.1", "platform 1.4.0-rc.1"],
  ["acme", "http.request", "2.0.0", "quarantined 2.0.0"],
  ["acme", "http.request", ">=2", "quarantined 2.0.0"],
  ["acme", "http.request", "newest", "bad_version"],
  ["platform", "http.request", "1.2.0", "platform 1.2.0"],
  ["acme", "echo", "", "acme 0.9.0"],
  ["acme", "echo", "~0.8", "acme 0.8.0"],
  ["beta", "echo", "", "platform 1.0.0"],
])("%s asks for %s %j and gets %s", async (tenant, name, requested, expected) => {
  expect(said(await new ToolResolver(new Books(shelf)).resolve(tenant, name, requested))).toBe(expected);
});

/** a active, d deprecated, q quarantined; versions 1.0.0, 1.1.0 and 2.0.0 in this order. */
const marks: Readonly<Record<string, ToolStatus>> = { a: "active", d: "deprecated", q: "quarantined" };

test.each<[pin: string, active: string | null, statuses: string, requested: string, expected: string]>([
  // Nothing pinned, nothing active: the newest stable.
  ["", null, "aaa", "", "acme 2.0.0"],
  ["", null, "aad", "", "acme 1.1.0"],
  ["", null, "aqq", "", "acme 1.0.0"],
  ["", null, "ddd", "", "acme 2.0.0"],
  ["", null, "qdq", "", "acme 1.1.0"],
  ["", null, "qqq", "", "quarantined 2.0.0"],
  // The active version answers, deprecated or not, and never silently another one.
  ["", "1.0.0", "aaa", "", "acme 1.0.0"],
  ["", "1.0.0", "daa", "", "acme 1.0.0"],
  ["", "1.0.0", "qaa", "", "quarantined 1.0.0"],
  // A pin comes before the active version.
  ["1.1.0", "1.0.0", "aaa", "", "acme 1.1.0"],
  ["1.1.0", "1.0.0", "ada", "", "acme 1.1.0"],
  ["1.1.0", "1.0.0", "aqa", "", "quarantined 1.1.0"],
  ["1.1.0", null, "aaa", "", "acme 1.1.0"],
  ["1.9.0", "1.0.0", "aaa", "", "not_found"],
  ["^1.0.0", "2.0.0", "aaa", "", "acme 1.1.0"],
  ["^1.0.0", "2.0.0", "ada", "", "acme 1.0.0"],
  ["^1.0.0", "2.0.0", "aqa", "", "acme 1.0.0"],
  ["^1.0.0", "2.0.0", "dda", "", "acme 1.1.0"],
  ["^1.0.0", "2.0.0", "qqa", "", "quarantined 1.1.0"],
  ["^3", "2.0.0", "aaa", "", "not_found"],
  // Who names a version or a range is not held by pin or active version.
  ["1.1.0", "1.1.0", "aaa", "2.0.0", "acme 2.0.0"],
  ["1.1.0", "1.1.0", "aad", "2.0.0", "acme 2.0.0"],
  ["1.1.0", "1.1.0", "aaq", "2.0.0", "quarantined 2.0.0"],
  ["2.0.0", "2.0.0", "aaa", "^1.0.0", "acme 1.1.0"],
  ["2.0.0", "2.0.0", "ada", "1.x", "acme 1.0.0"],
  ["2.0.0", "2.0.0", "qda", "1.x", "acme 1.1.0"],
  ["2.0.0", "2.0.0", "qqa", "1.x", "quarantined 1.1.0"],
  ["2.0.0", "2.0.0", "aaa", "*", "acme 2.0.0"],
  ["2.0.0", "2.0.0", "aaa", "9.9.9", "not_found"],
  ["2.0.0", "2.0.0", "aaa", "latest", "bad_version"],
])("pin %j, active %j, statuses %s, wish %j: %s", async (pin, active, statuses, requested, expected) => {
  const [first = "", second = "", third = ""] = [...statuses].map((mark) => marks[mark]);
  const versions = { "1.0.0": first, "1.1.0": second, "2.0.0": third } as Readonly<Record<string, ToolStatus>>;
  const books = new Books({ "acme/pay": { active, versions } });
  if (pin !== "") books.pins["acme/pay"] = pin;
  const resolver = new ToolResolver(books);
  expect(said(await resolver.resolve("acme", "pay", requested))).toBe(expected);
  // From memory it is the same.
  expect(said(await resolver.resolve("acme", "pay", requested))).toBe(expected);
});

describe("pins", () => {
  test("are the tenant's own, also on the platform's tools", async () => {
    const books = new Books(shelf);
    books.pins["acme/http.request"] = "1.3.0";
    const resolver = new ToolResolver(books);
    expect(said(await resolver.resolve("acme", "http.request", ""))).toBe("platform 1.3.0");
    expect(said(await resolver.resolve("beta", "http.request", ""))).toBe("platform 1.2.0");
  });

  test("that nothing fits are named", async () => {
    const books = new Books(shelf);
    books.pins["acme/echo"] = "^2.0.0";
    expect(await new ToolResolver(books).resolve("acme", "echo", "", all)).toEqual({
      ok: false,
      reason: "not_found",
      near: [],
      versions: ["0.9.0", "0.8.0"],
      pinned: "^2.0.0",
    });
  });
});

describe("per project", () => {
  const books = (): Books => {
    const made = new Books(shelf);
    made.projects["acme/shop/echo"] = false;
    made.projects["acme/shop/http.request"] = false;
    made.projects["acme/lab/echo"] = true;
    return made;
  };

  test("a tool that is disabled there, the platform's included, does not run", async () => {
    const resolver = new ToolResolver(books());
    expect(await resolver.resolve("acme", "echo", "", all, "shop")).toMatchObject({
      reason: "disabled",
      project: "shop",
      version: { version: "0.9.0" },
    });
    expect(said(await resolver.resolve("acme", "http.request", "1.3.0", all, "shop"))).toBe("disabled 1.3.0");
  });

  test("anywhere else, and for whom no project is named, it does", async () => {
    const resolver = new ToolResolver(books());
    expect(said(await resolver.resolve("acme", "echo", "", all, "lab"))).toBe("acme 0.9.0");
    expect(said(await resolver.resolve("acme", "echo", "", all, "den"))).toBe("acme 0.9.0");
    expect(said(await resolver.resolve("beta", "echo", "", all, "shop"))).toBe("platform 1.0.0");
    expect(said(await resolver.resolve("acme", "echo", ""))).toBe("acme 0.9.0");
  });

  test("what is quarantined is told so, and what is not there as well", async () => {
    const resolver = new ToolResolver(books());
    expect(said(await resolver.resolve("acme", "http.request", "2.0.0", all, "shop"))).toBe("quarantined 2.0.0");
    expect(said(await resolver.resolve("acme", "http.request", "9.0.0", all, "shop"))).toBe("not_found");
  });
});

describe("what is not there", () => {
  const notFound = { ok: false, reason: "not_found", near: [], versions: [] };
  const ask = (
    tenant: string,
    name: string,
    requested: string,
    maySee?: (tool: string) => boolean,
  ): Promise<Resolution> => new ToolResolver(new Books(shelf)).resolve(tenant, name, requested, maySee);

  test("an own tool hides the platform's, all its versions", async () => {
    expect(await ask("acme", "echo", "2.0.0", all)).toEqual({ ...notFound, versions: ["0.9.0", "0.8.0"] });
  });

  test("an unknown name comes with names that may have been meant, if the caller may know them", async () => {
    expect(await ask("acme", "http.requst", "", all)).toEqual({ ...notFound, near: ["http.request"] });
    expect(await ask("acme", "http.requst", "")).toEqual(notFound);
    expect(await ask("acme", "http.requst", "", (tool) => tool !== "http.request")).toEqual(notFound);
  });

  test("another tenant's tool does not exist, not even as a suggestion", async () => {
    expect(await ask("acme", "secret.tool", "", all)).toEqual(notFound);
  });

  test("an unknown version shows versions that may run, only to whom may see the tool", async () => {
    expect(await ask("beta", "http.request", "9.9.9", all)).toEqual({
      ...notFound,
      versions: ["1.4.0-rc.1", "1.3.0", "1.2.0"],
    });
    expect(await ask("beta", "http.request", "9.9.9")).toEqual(notFound);
  });

  test.each([
    ["", ""],
    ["n".repeat(129), ""],
    ["echo", "1".repeat(129)],
  ])("an impossible question costs no look-up", async (name, requested) => {
    const books = new Books(shelf);
    expect(await new ToolResolver(books).resolve("acme", name, requested, all)).toEqual(notFound);
    expect(books.asked).toEqual([]);
  });
});

describe("memory", () => {
  test("asks once, for a wish of any kind, until it is told to forget", async () => {
    const books = new Books(shelf);
    books.pins["acme/http.request"] = "^1.0.0";
    const resolver = new ToolResolver(books);
    const wishes = async (tenant: string): Promise<string[]> => {
      const found = [];
      for (const wish of ["", "1.2.0", "~1.2"])
        found.push(said(await resolver.resolve(tenant, "http.request", wish, all, "shop")));
      return found;
    };
    expect(await wishes("acme")).toEqual(["platform 1.3.0", "platform 1.2.0", "platform 1.2.0"]);
    expect(await wishes("beta")).toEqual(["platform 1.2.0", "platform 1.2.0", "platform 1.2.0"]);
    const reads = books.asked.length;
    expect(await wishes("acme")).toEqual(["platform 1.3.0", "platform 1.2.0", "platform 1.2.0"]);
    expect(await wishes("beta")).toEqual(["platform 1.2.0", "platform 1.2.0", "platform 1.2.0"]);
    expect(books.asked).toHaveLength(reads);

    books.shelf["platform/http.request"] = { active: "1.3.0", versions: { "1.2.0": "quarantined", "1.3.0": "active" } };
    resolver.forget("acme", "http.request");
    expect(await wishes("beta")).toEqual(["platform 1.2.0", "platform 1.2.0", "platform 1.2.0"]);
    resolver.forget("platform", "http.request");
    expect(await wishes("acme")).toEqual(["platform 1.3.0", "quarantined 1.2.0", "quarantined 1.2.0"]);
    expect(await wishes("beta")).toEqual(["platform 1.3.0", "quarantined 1.2.0", "quarantined 1.2.0"]);
  });

  test("pins and disabled tools are kept for the tenant, and forgotten for it", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    const wish = async (tenant: string): Promise<string> =>
      said(await resolver.resolve(tenant, "http.request", "", all, "shop"));
    expect([await wish("acme"), await wish("beta")]).toEqual(["platform 1.2.0", "platform 1.2.0"]);
    books.pins["acme/http.request"] = "1.3.0";
    books.pins["beta/http.request"] = "1.3.0";
    books.projects["beta/shop/http.request"] = false;
    expect([await wish("acme"), await wish("beta")]).toEqual(["platform 1.2.0", "platform 1.2.0"]);
    resolver.forgetChoices("acme");
    expect([await wish("acme"), await wish("beta")]).toEqual(["platform 1.3.0", "platform 1.2.0"]);
    resolver.forgetChoices("beta");
    expect([await wish("acme"), await wish("beta")]).toEqual(["platform 1.3.0", "disabled 1.3.0"]);
  });

  test("a tenant's new tool takes over the platform's name once it is told", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    expect(said(await resolver.resolve("beta", "echo", ""))).toBe("platform 1.0.0");
    books.shelf["beta/echo"] = { active: "5.0.0", versions: { "5.0.0": "active" } };
    resolver.forget("beta", "echo");
    expect(said(await resolver.resolve("beta", "echo", ""))).toBe("beta 5.0.0");
  });

  test("what was not found, and what is quarantined, is asked again every time", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    expect(said(await resolver.resolve("acme", "late", ""))).toBe("not_found");
    expect(said(await resolver.resolve("acme", "http.request", "2.0.0"))).toBe("quarantined 2.0.0");
    books.shelf["acme/late"] = { active: "1.0.0", versions: { "1.0.0": "active" } };
    books.shelf["platform/http.request"] = { active: null, versions: { "2.0.0": "active" } };
    expect(said(await resolver.resolve("acme", "late", ""))).toBe("acme 1.0.0");
    expect(said(await resolver.resolve("acme", "http.request", "2.0.0"))).toBe("platform 2.0.0");
  });

  test("an answer that was on its way when the tool changed is not kept", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    // What it reads of the tool's record is the old state; the rest comes later.
    const onItsWay = resolver.resolve("beta", "secret.tool", "");
    books.shelf["beta/secret.tool"] = { active: "2.0.0", versions: { "1.0.0": "active", "2.0.0": "active" } };
    resolver.forget("beta", "secret.tool");
    expect(said(await onItsWay)).toBe("beta 1.0.0");
    expect(said(await resolver.resolve("beta", "secret.tool", ""))).toBe("beta 2.0.0");
  });

  test("whoever asks for a range while the list is being read waits for the same list", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    await Promise.all(["^1.0.0", "~1.2", "*", "1.x"].map((wish) => resolver.resolve("acme", "http.request", wish)));
    expect(books.asked.filter((one) => one === "versions platform/http.request")).toHaveLength(1);
  });

  test("a read that failed is nothing to remember", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    for (const wish of ["", "~0.8"]) {
      books.failing = true;
      await expect(resolver.resolve("acme", "echo", wish)).rejects.toThrow("the store is away");
      books.failing = false;
      expect(said(await resolver.resolve("acme", "echo", wish))).toBe(wish === "" ? "acme 0.9.0" : "acme 0.8.0");
      resolver.forget("acme", "echo");
      resolver.forgetChoices("acme");
    }
  });

  test("it remembers no more than it may, of tools, versions and lists", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books, { versionsMax: 2, listedMax: 4, toolsMax: 2, picksMax: 1 });
    const count = (what: string): number => books.asked.filter((one) => one.startsWith(what)).length;
    for (const wish of ["1.0.0", "1.2.0", "1.3.0"]) await resolver.resolve("platform", "http.request", wish);
    expect(count("version platform/http.request@")).toBe(3);
    await resolver.resolve("platform", "http.request", "1.3.0");
    expect(count("version platform/http.request@")).toBe(3);
    await resolver.resolve("platform", "http.request", "1.0.0");
    expect(count("version platform/http.request@")).toBe(4);

    // Five entries are more than all lists may have.
    for (const wish of ["^1.0.0", "*"]) await resolver.resolve("platform", "http.request", wish);
    expect(count("versions platform/http.request")).toBe(2);
    for (const wish of ["^1.0.0", "*", "^1.0.0"]) await resolver.resolve("platform", "echo", wish);
    expect(count("versions platform/echo")).toBe(1);

    await resolver.resolve("beta", "secret.tool", "");
    await resolver.resolve("platform", "echo", "");
    expect(count("tool platform/echo")).toBe(1);
    expect(count("tool platform/http.request")).toBe(1);
    await resolver.resolve("platform", "http.request", "");
    expect(count("tool platform/http.request")).toBe(2);
  });

  test("names that somebody makes up push nothing out", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books, { toolsMax: 8 });
    await resolver.resolve("acme", "echo", "");
    for (let index = 0; index < 20; index++) await resolver.resolve("acme", `made.up.${index}`, "");
    await resolver.resolve("acme", "echo", "");
    expect(books.asked.filter((one) => one === "tool acme/echo")).toHaveLength(1);
  });
});

describe("standing", () => {
  const call = { tenant: "acme", project: "shop", tool: "http.request", toolTenant: "platform", version: "1.3.0" };

  test("is known from memory once the call was resolved", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    await resolver.resolve("acme", "http.request", "^1.3.0", all, "shop");
    const reads = books.asked.length;
    expect(await resolver.standing(call)).toEqual({ ok: true });
    expect(books.asked).toHaveLength(reads);
  });

  test("goes with the version's status, the project's choice, and the version itself", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    expect(await resolver.standing({ ...call, version: "1.0.0" })).toEqual({ ok: true });
    expect(await resolver.standing({ ...call, version: "2.0.0" })).toEqual({ ok: false, reason: "quarantined" });
    expect(await resolver.standing({ ...call, version: "7.0.0" })).toEqual({ ok: false, reason: "gone" });
    books.projects["acme/shop/http.request"] = false;
    resolver.forgetChoices("acme");
    expect(await resolver.standing(call)).toEqual({ ok: false, reason: "disabled" });
    expect(await resolver.standing({ ...call, project: "lab" })).toEqual({ ok: true });
    expect(await resolver.standing({ ...call, tenant: "beta" })).toEqual({ ok: true });
  });

  test("of a platform's tool stays the platform's, also where an own tool hides it by now", async () => {
    const books = new Books(shelf);
    const resolver = new ToolResolver(books);
    expect(await resolver.standing({ ...call, tool: "echo", version: "2.0.0" })).toEqual({ ok: true });
  });
});

test("looking up one of 100 000 remembered tools is quick", async () => {
  const many: Record<string, Shelf> = {};
  for (let index = 0; index < 100_000; index++)
    many[`acme/t${index}`] = { active: "1.0.0", versions: { "1.0.0": "active" } };
  const resolver = new ToolResolver(new Books(many), { toolsMax: 200_000, versionsMax: 200_000 });
  for (let index = 0; index < 100_000; index += 10) await resolver.resolve("acme", `t${index}`, "");
  const begun = performance.now();
  for (let index = 0; index < 100_000; index += 100) await resolver.resolve("acme", `t${index}`, "");
  // A thousand look-ups; the bound for one is 2 ms.
  expect(performance.now() - begun).toBeLessThan(500);
});

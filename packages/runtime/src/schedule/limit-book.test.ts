// Which limits a call meets: by scope, by who set them, by the very subject or for each, and what of them is another's business.
import { describe, expect, test } from "vitest";
import { LimitBook, type Place } from "./limit-book.ts";
import { looserThanOperator } from "./looser.ts";
import type { Limit } from "./types.ts";

function limit(fields: Partial<Limit> = {}): Limit {
  return {
    tenant: "acme",
    setBy: "tenant",
    scope: "tenant",
    subject: "",
    rate: { perMinute: 60, burst: 10 },
    quotas: {},
    timeZone: null,
    changedAt: 0,
    changedBy: "user:ada",
    ...fields,
  };
}

function book(...limits: readonly Partial<Limit>[]): LimitBook {
  const made = new LimitBook();
  for (const one of limits) made.put(limit(one));
  return made;
}

const place: Place = { tenant: "acme", project: "shop", principal: "user:ann", agent: "helper", tool: "pay", toolTenant: "acme" };

/** `operator tool pay`, and a `!` before those that count other tenants' calls. */
function met(of: LimitBook, at: Partial<Place> = {}): string[] {
  return of.ratesFor({ ...place, ...at }).map(({ limit: { setBy, scope }, subject, foreign }) =>
    `${foreign ? "!" : ""}${setBy} ${scope}${subject === "" ? "" : ` ${subject}`}`,
  );
}

const everything = [
  { tenant: "platform", setBy: "operator", scope: "platform" },
  { tenant: "platform", setBy: "operator", scope: "tool", subject: "pay" },
  ...(["operator", "tenant"] as const).flatMap((setBy) =>
    ([["tenant", ""], ["project", "shop"], ["principal", "user:ann"], ["agent", "helper"], ["tool", "pay"]] as const).map(([scope, subject]) => ({ setBy, scope, subject })),
  ),
] as const;

describe("the rates that a call must pass", () => {
  test("all that match, from the widest on", () => {
    expect(met(book(...everything), { toolTenant: "platform" })).toEqual([
      "!operator platform",
      "!operator tool pay",
      "operator tenant",
      "operator project shop",
      "operator principal user:ann",
      "operator agent helper",
      "operator tool pay",
      "tenant tenant",
      "tenant project shop",
      "tenant principal user:ann",
      "tenant agent helper",
      "tenant tool pay",
    ]);
  });

  test.each<[string, Partial<Place>, readonly string[]]>([
    ["another project", { project: "back" }, ["tenant principal user:ann", "tenant agent helper", "tenant tool pay"]],
    ["another principal", { principal: "user:bo" }, ["tenant project shop", "tenant agent helper", "tenant tool pay"]],
    ["no agent", { agent: "" }, ["tenant project shop", "tenant principal user:ann", "tenant tool pay"]],
    ["another tool", { tool: "ship" }, ["tenant project shop", "tenant principal user:ann", "tenant agent helper"]],
    ["another tenant", { tenant: "globex" }, []],
  ])("none that is about %s", (_, at, expected) => {
    const narrow = everything.filter((one) => one.setBy === "tenant" && one.scope !== "tenant");
    expect(met(book(...narrow), at)).toEqual(expected);
  });

  test("a tool of the platform is held to the platform's limit of it, whoever calls; a tenant's own of that name is not", () => {
    const of = book({ tenant: "platform", setBy: "operator", scope: "tool", subject: "pay" });
    expect([met(of), met(of, { toolTenant: "platform" }), met(of, { toolTenant: "platform", tenant: "globex" })]).toEqual([[], ["!operator tool pay"], ["!operator tool pay"]]);
    expect(met(of, { tenant: "platform", toolTenant: "platform" })).toEqual(["!operator tool pay"]);
  });

  test("a limit for each has a bucket for each, and yields to one that names the subject", () => {
    const of = book({ scope: "principal", subject: "*" }, { scope: "principal", subject: "user:bo", rate: { perMinute: 1, burst: 1 } });
    const whose = (principal: string) => of.ratesFor({ ...place, principal }).map(({ limitKey, subject, rate }) => [limitKey, subject, rate.burst]);
    expect(whose("user:ann")).toEqual([["acme\ntenant\nprincipal\n*", "user:ann", 10]]);
    expect(whose("user:cy")).toEqual([["acme\ntenant\nprincipal\n*", "user:cy", 10]]);
    expect(whose("user:bo")).toEqual([["acme\ntenant\nprincipal\nuser:bo", "user:bo", 1]]);
  });

  test("what the tenant says for one subject does not lift what the operator says for each", () => {
    const of = book({ setBy: "operator", scope: "tool", subject: "*" }, { scope: "tool", subject: "pay" });
    expect(met(of)).toEqual(["operator tool pay", "tenant tool pay"]);
  });

  test("a limit without a rate is none of them, and one for a subject without a rate lifts the one for each", () => {
    const of = book({ rate: null, quotas: { queueDepth: 3 } }, { scope: "project", subject: "*" }, { scope: "project", subject: "shop", rate: null, quotas: { queueDepth: 3 } });
    expect([met(of), met(of, { project: "back" })]).toEqual([[], ["tenant project back"]]);
  });

  test("put again it is another, removed it is gone", () => {
    const of = book({});
    of.put(limit({ rate: { perMinute: 7, burst: 7 } }));
    expect(of.ratesFor(place).map(({ rate }) => rate.burst)).toEqual([7]);
    expect(of.countOf("acme", "tenant")).toBe(1);
    of.remove({ tenant: "acme", setBy: "operator", scope: "tenant", subject: "" });
    expect(of.countOf("acme", "tenant")).toBe(1);
    of.remove(limit());
    of.remove(limit());
    expect([of.countOf("acme", "tenant"), met(of)]).toEqual([0, []]);
  });
});

describe("quotas", () => {
  const of = book(
    { setBy: "operator", quotas: { concurrentExecutions: 9, executionsPerDay: 100 } },
    { quotas: { concurrentExecutions: 4 } },
    { scope: "project", subject: "*", quotas: { concurrentExecutions: 2, executionsPerDay: 10 } },
    { scope: "project", subject: "shop", quotas: { concurrentExecutions: 3 } },
  );

  test("of the two setters the smaller one holds; Infinity where nobody set one", () => {
    expect(of.quotaOfTenant("concurrentExecutions", "acme")).toBe(4);
    expect([of.quotaOfProject("concurrentExecutions", "acme", "shop"), of.quotaOfProject("concurrentExecutions", "acme", "back")]).toEqual([3, 2]);
    expect([of.quotaOfTenant("queueDepth", "acme"), of.quotaOfTenant("concurrentExecutions", "globex")]).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });

  test("those of a call are its tenant's and its project's", () => {
    const found = (project: string) => of.quotasFor("executionsPerDay", { tenant: "acme", project }).map(({ scope, subject, max, limit: { setBy } }) => [setBy, scope, subject, max]);
    expect(found("back")).toEqual([["operator", "tenant", "", 100], ["tenant", "project", "back", 10]]);
    expect(found("shop")).toEqual([["operator", "tenant", "", 100]]);
  });

  test("whether there is any of one kind is known", () => {
    expect([of.hasQuota("concurrentExecutions"), of.hasQuota("egressBytesPerDay")]).toEqual([true, false]);
    expect([of.countsDays("acme", ["executionsPerDay"]), of.countsDays("acme", ["cpuSecondsPerDay"]), of.countsDays("globex", ["executionsPerDay"])]).toEqual([true, false, false]);
  });
});

test("the tenant's zone is the operator's word, else its own, else UTC", () => {
  const of = book({ timeZone: "Asia/Tokyo" });
  expect([of.zoneOf("acme"), of.zoneOf("globex")]).toEqual(["Asia/Tokyo", "UTC"]);
  of.put(limit({ setBy: "operator", timeZone: "Europe/Paris" }));
  expect(of.zoneOf("acme")).toBe("Europe/Paris");
});

describe("a tenant's own limit that says more than the operator's", () => {
  const of = book(
    { setBy: "operator", rate: { perMinute: 100, burst: 10 }, quotas: { executionsPerDay: 50 } },
    { setBy: "operator", scope: "tool", subject: "pay", rate: { perMinute: 30, burst: 20 } },
    { setBy: "operator", scope: "principal", subject: "*", rate: { perMinute: 5, burst: 1 } },
  );
  const looser = (fields: Partial<Limit>) => looserThanOperator(of, limit(fields)).map(({ field, max }) => `${field} ${max}`);

  test.each<[string, Partial<Limit>, readonly string[]]>([
    ["the same as the tenant's", { rate: { perMinute: 100, burst: 10 } }, []],
    ["a rate above the tenant's", { rate: { perMinute: 101, burst: 11 } }, ["perMinute 100", "burst 10"]],
    ["a quota above the tenant's", { scope: "project", subject: "shop", rate: null, quotas: { executionsPerDay: 51 } }, ["executionsPerDay 50"]],
    ["a tool above what is set for it, or for all: the smaller is told", { scope: "tool", subject: "pay", rate: { perMinute: 31, burst: 11 } }, ["burst 10", "perMinute 30"]],
    ["another tool above the tenant's alone", { scope: "tool", subject: "ship", rate: { perMinute: 100, burst: 10 } }, []],
    ["a principal above what is set for each", { scope: "principal", subject: "user:ann", rate: { perMinute: 6, burst: 1 } }, ["perMinute 5"]],
    ["each principal above what is set for each", { scope: "principal", subject: "*", rate: { perMinute: 5, burst: 2 } }, ["burst 1"]],
    ["what the operator says nothing of", { rate: null, quotas: { cpuSecondsPerDay: 1_000_000 } }, []],
    ["another tenant's", { tenant: "globex", rate: { perMinute: 1_000, burst: 1_000 } }, []],
  ])("%s", (_, fields, expected) => {
    expect(looser(fields)).toEqual(expected);
  });
});

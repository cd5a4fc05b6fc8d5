// Which of many versions a wish comes to, by order and by status.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newestUsable, orderVersions, pickVersion, type OrderedVersion } from "./pick.ts";
import type { ToolStatus } from "./types.ts";

/** `1.0.0` is active, `1.0.0 d` deprecated, `1.0.0 q` quarantined. */
function listed(...texts: readonly string[]): readonly OrderedVersion[] {
  return orderVersions(
    texts.map((text) => {
      const [version = "", mark] = text.split(" ");
      return { version, status: mark === "d" ? "deprecated" : mark === "q" ? "quarantined" : "active" };
    }),
  );
}

test("newest first, and equal precedence the same way for everybody; what is no version is left out", () => {
  const names = (versions: readonly OrderedVersion[]): string[] => versions.map(({ version }) => version);
  const newest = ["2.0.0", "1.10.0", "1.9.0", "1.0.0", "1.0.0-a"];
  expect(names(listed("1.0.0", "1.0.0-a", "2.0.0", "x", "1.10.0", "1.9.0"))).toEqual(newest);
  expect(names(listed("1.0.0+a", "1.0.0+b"))).toEqual(["1.0.0+b", "1.0.0+a"]);
  expect(names(listed("1.0.0+b", "1.0.0+a"))).toEqual(["1.0.0+b", "1.0.0+a"]);
});

describe("among versions that may all run", () => {
  const versions = listed("1.0.0", "1.2.0", "1.3.0", "1.4.0-beta.1", "2.0.0-rc.1", "0.9.0", "garbage");

  test.each([
    ["", "1.3.0"],
    ["^1.2.0", "1.3.0"],
    ["~1.2", "1.2.0"],
    ["^1.4.0-beta.0", "1.4.0-beta.1"],
    ["*", "1.3.0"],
    ["<1", "0.9.0"],
  ])("the wish %j comes to %s", (requested, version) => {
    expect(pickVersion(versions, requested)).toEqual({ ok: true, version });
  });

  test.each([
    ["^3", "no_match"],
    ["^2.0.0", "no_match"],
    ["newest", "bad_version"],
  ])("the wish %j comes to nothing: %s", (requested, reason) => {
    expect(pickVersion(versions, requested)).toEqual({ ok: false, reason });
  });

  test("a pre-release is never chosen by itself", () => {
    expect(pickVersion(listed("1.0.0-rc.1"), "")).toEqual({ ok: false, reason: "no_match" });
    expect(pickVersion([], "")).toEqual({ ok: false, reason: "no_match" });
  });
});

describe("statuses", () => {
  test.each([
    ["a deprecated one is passed over", ["1.0.0", "1.1.0 d"], "^1.0.0", { ok: true, version: "1.0.0" }],
    ["but for where there is no other", ["1.0.0 d", "1.1.0 d", "2.0.0"], "^1.0.0", { ok: true, version: "1.1.0" }],
    ["a quarantined one is skipped", ["1.0.0", "1.1.0 q"], "^1.0.0", { ok: true, version: "1.0.0" }],
    ["a deprecated one rather than a quarantined one", ["1.0.0 d", "1.1.0 q"], "1.x", { ok: true, version: "1.0.0" }],
    [
      "nothing but quarantined ones",
      ["1.0.0 q", "1.1.0 q", "2.0.0"],
      "1.x",
      { ok: false, reason: "quarantined", version: "1.1.0" },
    ],
    ["the newest stable is no deprecated one", ["1.0.0", "2.0.0 d"], "", { ok: true, version: "1.0.0" }],
    ["the newest stable, all deprecated", ["1.0.0 d", "2.0.0 d"], "", { ok: true, version: "2.0.0" }],
    [
      "the newest stable, all quarantined",
      ["1.0.0 q", "2.0.0 q"],
      "",
      { ok: false, reason: "quarantined", version: "2.0.0" },
    ],
    [
      "a pre-release does not stand in for a quarantined one",
      ["1.0.0 q", "1.1.0-rc.1"],
      "",
      { ok: false, reason: "quarantined", version: "1.0.0" },
    ],
    [
      "a quarantined pre-release outside the range says nothing",
      ["1.0.0-rc.1 q"],
      "^1.0.0",
      { ok: false, reason: "no_match" },
    ],
  ])("%s", (_, versions, requested, picked) => {
    expect(pickVersion(listed(...versions), requested)).toEqual(picked);
  });

  test("what is shown to somebody who asked in vain may run", () => {
    expect(newestUsable(listed("1.0.0", "2.0.0 q", "1.1.0 d", "1.2.0", "0.1.0"), 3)).toEqual([
      "1.2.0",
      "1.1.0",
      "1.0.0",
    ]);
  });
});

const part = fc.integer({ min: 0, max: 3 });
const rows = fc.uniqueArray(
  fc.record({
    numbers: fc.tuple(part, part, part),
    status: fc.constantFrom<ToolStatus>("active", "deprecated", "quarantined"),
  }),
  { maxLength: 20, selector: ({ numbers }) => numbers.join(".") },
);

test("a range comes to its newest active version, else deprecated, else it is quarantined, whatever the order of publishing", () => {
  fc.assert(
    fc.property(rows, fc.tuple(fc.integer({ min: 1, max: 3 }), part, part), (versions, low) => {
      const weight = ([major, minor, patch]: readonly [number, number, number]): number =>
        major * 100 + minor * 10 + patch;
      // ^major.minor.patch with major ≥ 1: the same major, from minor.patch on.
      const fitting = versions
        .filter(({ numbers }) => numbers[0] === low[0] && weight(numbers) >= weight(low))
        .toSorted((one, other) => weight(other.numbers) - weight(one.numbers));
      const best = (["active", "deprecated", "quarantined"] as const)
        .map((status) => fitting.find((one) => one.status === status))
        .find((one) => one !== undefined);
      const picked = pickVersion(
        orderVersions(versions.map(({ numbers, status }) => ({ version: numbers.join("."), status }))),
        `^${low.join(".")}`,
      );
      if (best === undefined) expect(picked).toEqual({ ok: false, reason: "no_match" });
      else if (best.status === "quarantined")
        expect(picked).toEqual({ ok: false, reason: "quarantined", version: best.numbers.join(".") });
      else expect(picked).toEqual({ ok: true, version: best.numbers.join(".") });
    }),
  );
});

// The wasm backend passes the kit: guests in native boxes, their hostile cases included.
import { afterAll, beforeAll, expect, test } from "vitest";
import { runKit } from "../kit.ts";
import { guestCases } from "./kit-cases.ts";
import { boxedSubject, guestCapabilities, type WasmSubject } from "./subject.ts";

const asRoot = process.getuid?.() === 0;
/** In CI as root boxes must work; elsewhere a host that lacks something is told, and fails nothing. */
const mustWork = asRoot && process.env["CI"] !== undefined;
const kitMsMax = 120_000;
const groups = [...new Set(guestCases.map(({ group }) => group))];

let subject: WasmSubject;
beforeAll(() => {
  subject = boxedSubject({ bestEffort: !asRoot });
});
afterAll(() => subject.close());

test.each(groups)("wasm: %s", { timeout: kitMsMax }, async (group) => {
  const cases = guestCases.filter((each) => each.group === group);
  const { probe, items } = await runKit({ backend: subject.backend, ...guestCapabilities }, cases);
  if (!probe.ok) process.stderr.write(`boxes for guests are not available here: ${JSON.stringify(probe)}\n`);
  if (mustWork) expect(probe).toMatchObject({ ok: true, rank: 40 });
  const failed = items.flatMap((item) => (item.outcome === "failed" ? [`${item.case.name}: ${item.message}`] : []));
  expect(failed).toEqual([]);
  if (probe.ok) expect(items.filter(({ outcome }) => outcome === "passed")).toHaveLength(cases.length);
});

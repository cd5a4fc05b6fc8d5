// Registration of a worker: which of its handlers are refused, and the one record of it.
import { afterEach, beforeEach, expect, test } from "vitest";
import { noon, PolicyOffice } from "../../../../test/support/policy-office.ts";
import type { Labels } from "./ports.ts";
import { vet, type VetPorts } from "./vet.ts";

const good = `sha256:${"a".repeat(64)}`;
const handler = (tool: string, version = "1.0.0") => ({ tool, version });

let office: PolicyOffice;
let figures: [string, Labels, number][];
let ports: VetPorts;

beforeEach(async () => {
  office = await PolicyOffice.open();
  figures = [];
  const meters = { count: (name: string, labels: Labels = {}, by = 1) => void figures.push([name, labels, by]), observe: () => undefined, text: async () => "" };
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  ports = { ledger: office.ledger, clock: office.clock, log, meters };
  await office.tool("pay");
  await office.tool("vault", undefined, { spec: { integrity: { identities: ["service:payroll"], image_digests: [good] } } });
});
afterEach(() => office.close());

const offer = (principal: string, imageDigest: string, ...handlers: { tool: string; version: string }[]) =>
  vet(ports, { type: "vet", session: 1, identity: { tenant: "acme", principal }, imageDigest, handlers });

test("who may run everything it offers leaves no trace", async () => {
  expect(await offer("service:payroll", good, handler("pay"), handler("vault"))).toEqual([]);
  expect([await office.audit(), figures]).toEqual([[], []]);
});

test("what it may not run is refused alone, counted, and written down once", async () => {
  expect(await offer("service:payroll", "sha256:old", handler("vault"), handler("pay"))).toEqual([handler("vault")]);
  expect(figures).toEqual([["integrity_violations_total", {}, 1]]);
  expect(await office.audit()).toMatchObject([
    {
      ts: noon,
      tenant: "acme",
      principal: "service:payroll",
      action: "worker.refused",
      status: "refused",
      errorCode: "integrity_violation",
      details: { handlers: ["vault@1.0.0"], image_digest: "sha256:old" },
    },
  ]);
});

test("a tool that is not registered is nobody's yet: it is asked again when a call comes", async () => {
  expect(await offer("service:other", "", handler("later"), handler("vault", "2.0.0"))).toEqual([]);
});

test("one record names at most fifty", async () => {
  for (let n = 1; n <= 60; n++) await office.tool("vault", undefined, { version: `1.0.${n}`, spec: { integrity: { identities: ["service:payroll"] } } });
  const refused = await offer("service:other", good, ...Array.from({ length: 61 }, (_, n) => handler("vault", `1.0.${n}`)));
  expect(refused).toHaveLength(61);
  const [record] = await office.audit();
  expect(record?.details?.["handlers"]).toHaveLength(50);
  expect(figures).toEqual([["integrity_violations_total", {}, 61]]);
});

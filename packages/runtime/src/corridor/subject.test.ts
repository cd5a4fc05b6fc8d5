// How a call looks to the policies.
import { expect, test } from "vitest";
import { readManifest } from "../registry/manifest.ts";
import { manifest } from "../../../../test/support/corridor.ts";
import { subjectOf } from "./subject.ts";

test("everything that a rule can match on, and nothing of the arguments", () => {
  const read = readManifest({ ...manifest({ spec: { default_policies: ["two-eyes", "limits@1.0.0"] } }), metadata: { name: "pay", version: "1.2.0", owner: "team-pay", description: "Pays.", labels: { area: "money" } } });
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  const subject = subjectOf({
    tenant: "acme",
    project: "shop",
    environment: "production",
    tool: { tenant: "platform", tool: "pay", version: "1.2.0", spec: read.spec, metadata: read.metadata },
    principal: "agent:clerk",
    roles: ["buyer"],
    context: { workflow_id: "w1" },
    trigger: "dispatch.no_handler",
  });
  expect(subject).toEqual({
    tenant: "acme",
    project: "shop",
    environment: "production",
    tool: { name: "pay", version: "1.2.0", class: "non_idempotent_write", labels: { area: "money" } },
    agent: "clerk",
    principal: { name: "agent:clerk", roles: ["buyer"] },
    context: { workflow_id: "w1" },
    // A tool's own references are to its owner's policies, not to those of whoever calls it.
    attached: [
      { tenant: "platform", reference: "two-eyes" },
      { tenant: "platform", reference: "limits@1.0.0" },
    ],
    trigger: "dispatch.no_handler",
  });
});

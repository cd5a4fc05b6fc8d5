// Who may run a tool: asked when a worker is chosen, whatever it said when it registered, and what a worker that may not leaves open.
import { describe, expect, test } from "vitest";
import { identityOf } from "../../../../test/support/calls.ts";
import { HandHub, believe, believed, lease, nack, type WorkerSays } from "../../../../test/support/hand-hub.ts";
import { isTrusted } from "./choose.ts";
import type { Integrity } from "./types.ts";

const good = "sha256:good";
const payroll: WorkerSays = { principal: "service:payroll", imageDigest: good };
const both: Integrity = { identities: ["service:payroll"], imageDigests: [good] };

describe("isTrusted", () => {
  const worker = (principal: string, imageDigest: string) => ({ identity: { tenant: "acme", principal }, imageDigest });

  test.each<[string, Integrity, string, string, boolean]>([
    ["no lists: anybody", { identities: [], imageDigests: [] }, "service:other", "", true],
    ["named", { identities: ["service:payroll"], imageDigests: [] }, "service:payroll", "", true],
    ["not named", { identities: ["service:payroll"], imageDigests: [] }, "service:other", good, false],
    ["a name that only begins like it", { identities: ["service:payroll"], imageDigests: [] }, "service:payroll2", "", false],
    ["its image", { identities: [], imageDigests: [good] }, "service:other", good, true],
    ["another image", { identities: [], imageDigests: [good] }, "service:payroll", "sha256:old", false],
    ["no image told", { identities: [], imageDigests: [good] }, "service:payroll", "", false],
    ["both lists: both must hold", both, "service:payroll", good, true],
    ["the name alone", both, "service:payroll", "sha256:old", false],
    ["the image alone", both, "service:other", good, false],
  ])("%s", (_, integrity, principal, imageDigest, trusted) => {
    expect(isTrusted(integrity, worker(principal, imageDigest))).toBe(trusted);
  });
});

function admit(hub: HandHub, callId: string, integrity: Integrity = both): void {
  hub.hub.admit({ identity: identityOf({ callId }), edited: null, facts: { check: believe, integrity }, clearance: hub.clearance() }, hub.now);
  hub.store();
}

describe("choosing", () => {
  test("a rogue worker that is there first takes nothing; the right one still gets the call", () => {
    const hub = new HandHub();
    const rogue = hub.connect("a-rogue", { principal: "service:other", imageDigest: good });
    admit(hub, "c1");
    expect(hub.sent(rogue)).toEqual(["registered"]);
    const right = hub.connect("w1", payroll);
    hub.store();
    expect([hub.sent(right), hub.sent(rogue)]).toEqual([["registered", "invoke c1#1"], []]);
  });

  test("a free rogue does not count when the right one is full", () => {
    const hub = new HandHub();
    const right = hub.connect("w1", { ...payroll, capacity: 1 });
    hub.connect("a-rogue", { principal: "service:other", imageDigest: good });
    admit(hub, "c1");
    admit(hub, "c2");
    expect([hub.sent(right), hub.call("c2").state]).toEqual([["registered", "invoke c1#1"], "queued"]);
  });

  test("a rogue goes on with what it may run, past the calls that are not for it", () => {
    const hub = new HandHub();
    admit(hub, "c1");
    admit(hub, "c2", believed.integrity);
    const rogue = hub.connect("a-rogue", { principal: "service:other", capacity: 1 });
    hub.store();
    expect(hub.sent(rogue)).toEqual(["registered", "invoke c2#1"]);
  });

  test("the one who turned a call down gets it again rather than a rogue, and without waiting for one", () => {
    const hub = new HandHub();
    const right = hub.connect("w1", payroll);
    hub.connect("a-rogue", { principal: "service:other", imageDigest: good });
    admit(hub, "c1");
    hub.say(right, nack("c1"));
    hub.store();
    expect(hub.sent(right)).toEqual(["registered", "invoke c1#1", "cancel c1#1 lost", "invoke c1#2"]);
  });

  test("with none but rogues nobody serves it: no_handler, not capacity_exhausted", () => {
    const hub = new HandHub();
    hub.connect("a-rogue", { principal: "service:other", imageDigest: good });
    admit(hub, "c1");
    hub.pass(30_000);
    hub.store();
    expect(hub.orders("tell").map(({ call }) => [call.state, call.routingOutcome])).toEqual([["failed", "no_handler"]]);
  });
});

describe("vetting", () => {
  test("is asked for what a worker offers, once it has registered; what it may not run is taken down", () => {
    const hub = new HandHub();
    hub.hub.connect(1, { tenant: "acme", principal: "service:other" }, hub.now);
    const handlers = ["pay", "ship"].map((tool) => ({ tool, version: "1.0.0", maxConcurrency: 5, descriptorHash: "" }));
    hub.say(1, { type: "register", workerId: "w1", incarnation: "i1", imageDigest: good, pool: "", labels: {}, handlers, backends: [], capacity: 5, inFlight: [] });
    expect(hub.hub.take().filter(({ type }) => type === "vet")).toEqual([
      {
        type: "vet",
        session: 1,
        identity: { tenant: "acme", principal: "service:other" },
        imageDigest: good,
        handlers: [
          { tool: "pay", version: "1.0.0" },
          { tool: "ship", version: "1.0.0" },
        ],
      },
    ]);
    hub.hub.vetted(1, [{ tool: "pay", version: "1.0.0" }]);
    expect([hub.hub.serversOf("acme", "pay", "1.0.0"), hub.hub.serversOf("acme", "ship", "1.0.0")]).toEqual([0, 1]);
  });

  test("what a worker was given before it was vetted is its lease's matter, and its slot comes back", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1", { capacity: 1, tools: { pay: 1, ship: 1 } });
    hub.admit("c1");
    hub.store();
    hub.hub.vetted(w1, [{ tool: "pay", version: "1.0.0" }]);
    hub.admit("c2", { tool: "ship" });
    hub.store();
    hub.say(w1, { type: "result", ...lease("c1"), status: "succeeded", outputJson: "1", usage: { durationMs: 1 } });
    hub.store();
    expect(hub.sent(w1)).toEqual(["registered", "invoke c1#1", "result_ack c1#1 stored", "invoke c2#1"]);
  });

  test("a worker that has left by then, or one that nobody knows, is no matter", () => {
    const hub = new HandHub();
    const w1 = hub.connect("w1");
    hub.hub.disconnect(w1);
    hub.hub.vetted(w1, [{ tool: "pay", version: "1.0.0" }]);
    hub.hub.vetted(99, []);
    expect(hub.hub.serversOf("acme", "pay", "1.0.0")).toBe(0);
  });
});

// The rows about people: their no, their silence, and a word that comes too late.
import { ask } from "../../support/manifests.ts";
import { anyText } from "./access.ts";
import { good, type ErrorCase, type World } from "./case.ts";

const denied = { http: 403, grpc: 7, type: "permission", retryable: false } as const;

export const approvalCases: readonly ErrorCase[] = [
  {
    code: "approval_denied",
    when: "a person rejected the call that is asked for again",
    ...denied,
    details: { by: "user:fay", comment: "no such invoice", approval_id: anyText },
    recorded: true,
    async reach(world) {
      const { again, approvalId, person } = await parked(world, "rejected");
      await good(person.decide(approvalId, "reject", { comment: "no such invoice" }));
      return again();
    },
  },
  {
    code: "approval_expired",
    when: "nobody decided about the call that is asked for again",
    ...denied,
    details: { approval_id: anyText, expired_at: anyText },
    recorded: true,
    async reach(world) {
      const { again, id } = await parked(world, "ignored", { timeout: "1s" });
      await world.admin.until(id, ["denied"]);
      return again();
    },
  },
  {
    code: "approval_closed",
    when: "somebody else was first",
    http: 409,
    grpc: 6,
    type: "conflict",
    retryable: false,
    details: { outcome: "rejected", by: "user:fay", at: anyText },
    recorded: true,
    async reach(world) {
      const { approvalId, person } = await parked(world, "decided");
      await good(person.decide(approvalId, "reject"));
      const other = world.as((await world.stack.person("finn", "finance")).secret);
      return other.decide(approvalId, "approve");
    },
  },
];

/** A call of a tool about which people are asked, and how to ask for it once more. */
async function parked(world: World, text: string, more: Readonly<Record<string, unknown>> = {}) {
  const tool = await world.tool(text);
  await world.stack.publish({ name: tool, match: { tools: [tool] }, then: ask("finance", 1, more) });
  const asked = { tool, input: {}, idempotency_key: tool };
  const { id, approvalId } = await world.admin.park(tool, {}, { idempotency_key: tool });
  const person = world.as((await world.stack.person("fay", "finance")).secret);
  return { id, approvalId, person, again: () => world.admin.invoke(asked) };
}

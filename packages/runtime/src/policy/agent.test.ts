// Which agent a call is made for.
import { expect, test } from "vitest";
import { agentOf } from "./agent.ts";

test.each<[string, string, unknown, string]>([
  ["an agent's own credential says which", "agent:clerk", { agent: "other" }, "clerk"],
  ["an application names the agent that it calls for", "service:shop", { agent: "clerk" }, "clerk"],
  ["whoever names none calls for none", "user:ann", {}, ""],
  ["what is no name is none", "service:shop", { agent: { name: "clerk" } }, ""],
  ["a context that is no record names none", "service:shop", null, ""],
])("%s", (_, principal, context, expected) => {
  expect(agentOf(principal, context)).toBe(expected);
});

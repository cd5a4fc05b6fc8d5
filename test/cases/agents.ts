// Which tests stand for the cases about agents, their manifests and their versions: id → files and parts of titles.
import type { Place } from "./registry.ts";

const agents = "test/e2e/agents.test.ts";
const agentManifests = "packages/runtime/src/registry/agents/manifest.test.ts";
const publishedAgents = "packages/runtime/src/corridor/agents/agents.test.ts";

const children = "packages/runtime/src/corridor/sessions/child.test.ts";
const childEnds = "packages/runtime/src/corridor/sessions/child-ends.test.ts";
const childIds = "packages/runtime/src/corridor/sessions/child-id.test.ts";
const childSessions = "test/e2e/child-sessions.test.ts";

export const agentCases: Readonly<Record<string, readonly Place[]>> = {
  "dispatch A1": [[agents, "A1: a version that is none"]],
  "dispatch A2": [[agents, "A2: the same tool bound twice"], [agentManifests, "A2: the same tool bound twice, or two tools under one name"]],
  "dispatch A3": [[agents, "A3: a default policy that has no file"], [publishedAgents, "A3: policies that are not in force"]],
  "dispatch A4": [[agents, "A4: a policy written in place"], [agentManifests, "A4: policies written in place"]],
  "dispatch A5": [[agents, "A5: a secret whose variable is not set"]],
  "dispatch A6": [[agents, "A6: a side-effect class that is none"]],
  "dispatch H1": [[agents, "H1, H2: init writes a manifest that is valid"]],
  "dispatch H2": [[agents, "H2: a bundle: policies and tools beside the manifest"]],
  "dispatch B2": [[agents, "B2, B3, C1–C3: published with the text of its instructions"]],
  "dispatch B3": [[agents, "B2, B3, C1–C3: published with the text of its instructions"]],
  "dispatch C1": [[agents, "B2, B3, C1–C3: published with the text of its instructions"]],
  "dispatch C2": [[agents, "B2, B3, C1–C3: published with the text of its instructions"]],
  "dispatch C3": [[agents, "B2, B3, C1–C3: published with the text of its instructions"]],
  "dispatch C4": [[agents, "C4–C9: diff, roll back, roll back to, deprecate, retire"]],
  "dispatch C5": [[agents, "C4–C9: diff, roll back, roll back to, deprecate, retire"]],
  "dispatch C6": [[agents, "C4–C9: diff, roll back, roll back to, deprecate, retire"]],
  "dispatch C7": [[agents, "C4–C9: diff, roll back, roll back to, deprecate, retire"]],
  "dispatch C8": [[publishedAgents, "deprecated versions start nothing, named or deployed"]],
  "dispatch C9": [[agents, "C4–C9: diff, roll back, roll back to, deprecate, retire"]],
  "dispatch I1": [[agents, "I1: archived it stays in the list"], [publishedAgents, "I1: an archived agent starts nothing"]],
  "dispatch J3": [[children, "J3: the orchestrator delegates, the specialist pays"]],
  "dispatch J4": [[children, "J4: the specialist's payment waits for approval"], [childSessions, "J4: the payment below waits for a person"]],
  "dispatch J5": [[children, "J5: a specialist that answers by itself touches no worker"], [childSessions, "J5: the agent below only talks"]],
  "dispatch depth-2 recursion": [[children, "depth-2 recursion: each waits for the one below it"]],
  "dispatch child id stable per call": [[childEnds, "the child is the same session, is not asked again"], [childIds, "equal calls always give the equal id"]],
  "dispatch recovery resumes child at its stored version": [[childEnds, "keeps the version that it began with"], [children, "the one that the parent was published with, whatever is deployed since"]],
};

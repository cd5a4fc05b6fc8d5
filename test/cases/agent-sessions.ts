// Which tests stand for the cases on dispatch, policy and approvals where an agent makes the call: id → files and parts of titles.
import type { Place } from "./registry.ts";

const agents = "test/e2e/agent-cases.test.ts";
const chat = "test/e2e/chat.test.ts";

export const agentSessionCases: Readonly<Record<string, readonly Place[]>> = {
  "dispatch D1": [[agents, "D1, D6: 500 runs detached"]],
  "dispatch D2": [[agents, "D2, D3, G1: 1500 waits for a person"], [chat, "an approval is answered in place by who may"]],
  "dispatch D3": [[agents, "D2, D3, G1: 1500 waits for a person"], [chat, "an approval is answered in place by who may"]],
  "dispatch D4": [[agents, "D4: 1500 is rejected"]],
  "dispatch D6": [[agents, "D1, D6: 500 runs detached"]],
  "dispatch E1": [[agents, "E1: 800 where more than 500 is denied"]],
  "dispatch E2": [[agents, "E2: euros where dollars alone are allowed"]],
  "dispatch E3": [[agents, "E3, G3: two people are needed"]],
  "dispatch E4": [[agents, "E4: approved with 500 in place of 1500"]],
  "dispatch F1": [[agents, "F1: a worker that says unavailable"]],
  "dispatch F2": [[agents, "F2: nobody serves the tool and a rule wants people asked"]],
  "dispatch F3": [[agents, "F3: the agent is bound to a version that nobody has"]],
  "dispatch F4": [[agents, "F4: an amount of 0 and no payee"]],
  "dispatch F5": [[agents, "F5: the one worker is not on the tool's list"]],
  "dispatch F6a": [[agents, "done without an approval, and the model is told of an error"]],
  "dispatch F6b": [[agents, "done without an approval, and the model is told of an error"]],
  "dispatch F7a": [[agents, "people are asked, and nothing is run again by itself"]],
  "dispatch F7b": [[agents, "people are asked, and nothing is run again by itself"]],
  "dispatch G1": [[agents, "D2, D3, G1: 1500 waits for a person"]],
  "dispatch G2": [[agents, "G2: nobody can approve what is not there"]],
  "dispatch G3": [[agents, "E3, G3: two people are needed"]],
};

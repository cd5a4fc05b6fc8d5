// The stories by name: which chapters each plays, in order. Later work adds its chapters here.
import { agentIsPublished, agentPaysARefund } from "./chapters/agent.ts";
import { dispatchIsFrozen } from "./chapters/brake.ts";
import { evilCodeIsStopped, modelCodeRuns } from "./chapters/boxed.ts";
import { cancelInFlight } from "./chapters/cancel.ts";
import { callRunsThrough } from "./chapters/call.ts";
import { ruleDenies } from "./chapters/denied.ts";
import { editedLedgers } from "./chapters/edited-ledger.ts";
import { sameKeyRunsNothing } from "./chapters/idempotency.ts";
import { ledgerTells } from "./chapters/ledger.ts";
import { workerIsLost } from "./chapters/lost-worker.ts";
import { questionOutlives } from "./chapters/outlives.ts";
import { personDecides } from "./chapters/person.ts";
import { refusals } from "./chapters/refusals.ts";
import { restart } from "./chapters/restart.ts";
import { rulesArePublished } from "./chapters/rules.ts";
import { registerTools, startWorker } from "./chapters/setting.ts";
import { twoPeopleDecide } from "./chapters/two-people.ts";
import { nobodyApproves } from "./chapters/unapproved.ts";
import type { Stage } from "./stage.ts";

export interface Chapter {
  readonly title: string;
  readonly play: (stage: Stage) => Promise<void>;
}

export interface Story {
  readonly about: string;
  readonly chapters: readonly Chapter[];
}

const tools: Chapter = { title: "Tools are registered", play: registerTools };
const worker: Chapter = { title: "The application's worker connects", play: startWorker };
const call: Chapter = { title: "A call runs through", play: callRunsThrough };
const idempotency: Chapter = { title: "The same key again runs nothing", play: sameKeyRunsNothing };
const refused: Chapter = { title: "What may not run is refused, and on record", play: refusals };
const cancel: Chapter = { title: "A call in flight is cancelled", play: cancelInFlight };
const lostWorker: Chapter = { title: "Workers are killed in mid-call", play: workerIsLost };
const rules: Chapter = { title: "Rules are written, tried out and put in force", play: rulesArePublished };
const forbidden: Chapter = { title: "A forbidden payment is denied by its rule", play: ruleDenies };
const person: Chapter = { title: "A large payment waits for a person", play: personDecides };
const twoPeople: Chapter = { title: "A very large one needs two people", play: twoPeopleDecide };
const unapproved: Chapter = { title: "A no, and nobody's yes", play: nobodyApproves };
const brake: Chapter = { title: "Dispatch is frozen, and goes on", play: dispatchIsFrozen };
const outlives: Chapter = { title: "A question outlives the runtime", play: questionOutlives };
const modelCode: Chapter = { title: "Code of a model summarizes the orders in a box", play: modelCodeRuns };
const evilCode: Chapter = { title: "Evil code is stopped, and the cause is told", play: evilCodeIsStopped };
const agent: Chapter = { title: "An agent is published", play: agentIsPublished };
const refund: Chapter = { title: "The agent pays a refund, through two kills", play: agentPaysARefund };
const ledger: Chapter = { title: "The ledger tells it all", play: ledgerTells };
const again: Chapter = { title: "The runtime stops and comes back", play: restart };
const edited: Chapter = { title: "An edited ledger is found out", play: editedLedgers };

const governed = [rules, forbidden, person, twoPeople, unapproved, brake] as const;

export const storyDefault = "spine";

export const stories: Readonly<Record<string, Story>> = {
  spine: {
    about: "one call's whole life, from the manifest to the audit, and what can go wrong on the way",
    chapters: [
      tools,
      worker,
      call,
      idempotency,
      refused,
      cancel,
      lostWorker,
      ...governed,
      modelCode,
      evilCode,
      ledger,
      again,
      edited,
    ],
  },
  call: { about: "a call runs through; the same key again runs nothing", chapters: [tools, worker, call, idempotency] },
  refusals: { about: "an unknown tool, an invalid input, a caller without the grant", chapters: [tools, refused] },
  governed: {
    about: "rules deny, people approve, change and reject, dispatch is frozen, a question outlives the runtime",
    chapters: [tools, ...governed, outlives],
  },
  boxed: { about: "code of a model runs in a box; evil code is stopped", chapters: [modelCode, evilCode] },
  agent: { about: "an agent looks something up, a person decides about its refund, and two kills change nothing", chapters: [tools, agent, refund] },
  cancel: { about: "a call in flight is cancelled", chapters: [tools, cancel] },
  "lost-worker": {
    about: "workers are killed in mid-call, of a safe and of unsafe calls",
    chapters: [tools, lostWorker],
  },
  restart: { about: "the runtime stops and comes back", chapters: [tools, call, again] },
  audit: { about: "edited, deleted and cut audit records are found out", chapters: [tools, call, edited] },
};

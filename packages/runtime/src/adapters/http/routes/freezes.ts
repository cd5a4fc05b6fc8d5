// The routes about the brake: stop dispatch, see what is stopped, go on.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { freeze as freezeAnswer, freezePage, lifted as liftedAnswer } from "../schemas/answers/freezes.ts";
import { check } from "../schemas/check.ts";
import { pageQuery } from "../schemas/fields.ts";
import { freezeBody, liftBody } from "../schemas/freezes.ts";
import { freezeView } from "../views/freezes.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  const freezes = await service.listFreezes(asked);
  return pageById(freezes, ({ tenant, tool }) => JSON.stringify([tenant, tool]), freezeView, part);
}

/** Takes no body too: whoever pulls the brake in a hurry should not fail on a missing `{}`. */
async function freeze({ service, asked, body }: Ask): Promise<Answer> {
  const { tool = "", reason = "", tenant } = check(freezeBody, body ?? {}, "body");
  return jsonAnswer(201, freezeView(await service.freeze(asked, tool, reason, tenant)));
}

async function lift({ service, asked, body }: Ask): Promise<Answer> {
  const { tool = "", tenant } = check(liftBody, body ?? {}, "body");
  const { lifted } = await service.unfreeze(asked, tool, tenant);
  return jsonAnswer(200, { tool, lifted });
}

const listOperation: Operation = {
  id: "listFreezes",
  tag: "brakes",
  summary: "List what is stopped",
  query: pageQuery,
  answers: { 200: json("One page of freezes", freezePage) },
};

const freezeOperation: Operation = {
  id: "freeze",
  tag: "brakes",
  summary: "Stop dispatch at once",
  description:
    "Nothing of its scope goes to a worker any more; what runs goes on, and new calls wait. Without a body it stops all of the tenant's tools.",
  bodySchema: freezeBody,
  example: { tool: "payments.charge", reason: "amounts look wrong" },
  answers: { 201: json("The freeze", freezeAnswer) },
  errors: ["tool_not_found"],
};

const liftOperation: Operation = {
  id: "liftFreeze",
  repeatable: true,
  tag: "brakes",
  summary: "Let dispatch go on",
  bodySchema: liftBody,
  example: { tool: "payments.charge" },
  answers: { 200: json("Whether there was anything to lift", liftedAnswer) },
};

export const freezeRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/freezes", scope: "calls:read", body: "none", handle: list, operation: listOperation },
  {
    method: "POST",
    path: "/v1/freezes",
    scope: "policies:write",
    body: "optional",
    handle: freeze,
    operation: freezeOperation,
  },
  {
    method: "POST",
    path: "/v1/freezes::lift",
    scope: "policies:write",
    body: "optional",
    handle: lift,
    operation: liftOperation,
  },
];

// The routes about the brake: stop dispatch, see what is stopped, go on.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { pageQuery } from "../schemas/fields.ts";
import { freezeBody, liftBody } from "../schemas/freezes.ts";
import { freezeView } from "../views/freezes.ts";
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

export const freezeRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/freezes", scope: "calls:read", body: "none", takesQuery: true, handle: list },
  { method: "POST", path: "/v1/freezes", scope: "policies:write", body: "optional", handle: freeze },
  { method: "POST", path: "/v1/freezes::lift", scope: "policies:write", body: "optional", handle: lift },
];

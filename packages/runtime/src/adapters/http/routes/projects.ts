// The routes about projects and their environments.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { check } from "../schemas/check.ts";
import { pageQuery } from "../schemas/fields.ts";
import { projectBody } from "../schemas/projects.ts";
import { projectView } from "../views/projects.ts";
import type { Ask, GuardedRoute } from "./route.ts";

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.listProjects(asked), ({ project }) => project, projectView, part);
}

async function put({ service, asked, params, body }: Ask): Promise<Answer> {
  const { environment } = check(projectBody, body, "body");
  return jsonAnswer(200, projectView(await service.putProject(asked, params["project"] ?? "", environment)));
}

export const projectRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/projects", scope: "admin", body: "none", takesQuery: true, handle: list },
  { method: "PUT", path: "/v1/projects/:project", scope: "admin", body: "json", handle: put },
];

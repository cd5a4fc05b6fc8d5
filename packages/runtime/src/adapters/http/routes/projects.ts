// The routes about projects and their environments.
import { jsonAnswer, pageById } from "../answer.ts";
import type { Answer } from "../answer.ts";
import { project as projectAnswer, projectPage } from "../schemas/answers/projects.ts";
import { check } from "../schemas/check.ts";
import { nameInPath, pageQuery } from "../schemas/fields.ts";
import { projectBody } from "../schemas/projects.ts";
import { projectView } from "../views/projects.ts";
import { json } from "./operation.ts";
import type { Operation } from "./operation.ts";
import type { Ask, GuardedRoute } from "./route.ts";

async function list({ service, asked, query }: Ask): Promise<Answer> {
  const part = check(pageQuery, query, "query");
  return pageById(await service.listProjects(asked), ({ project }) => project, projectView, part);
}

async function put({ service, asked, params, body }: Ask): Promise<Answer> {
  const { environment } = check(projectBody, body, "body");
  return jsonAnswer(200, projectView(await service.putProject(asked, params["project"] ?? "", environment)));
}

const listOperation: Operation = {
  id: "listProjects",
  tag: "access",
  summary: "List the tenant's projects",
  query: pageQuery,
  answers: { 200: json("One page of projects", projectPage) },
};

const putOperation: Operation = {
  id: "putProject",
  tag: "access",
  summary: "Make a project, or change its environment",
  params: { project: nameInPath.describe("The project's name") },
  bodySchema: projectBody,
  example: { environment: "production" },
  answers: { 200: json("The project", projectAnswer) },
};

export const projectRoutes: readonly GuardedRoute[] = [
  { method: "GET", path: "/v1/projects", scope: "admin", body: "none", handle: list, operation: listOperation },
  { method: "PUT", path: "/v1/projects/:project", scope: "admin", body: "json", handle: put, operation: putOperation },
];

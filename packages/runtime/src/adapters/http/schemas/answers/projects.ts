// What answers tell of projects.
import { z } from "zod";
import { at, pageOf } from "./common.ts";

export const project = z
  .strictObject({ project: z.string(), environment: z.string().describe("Empty: none"), created_at: at })
  .meta({ id: "Project", description: "A part of a tenant" });

export const projectPage = pageOf("ProjectPage", project);

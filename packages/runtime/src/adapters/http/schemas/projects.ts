// What requests about projects may say.
import { z } from "zod";
import { name } from "./fields.ts";

export const projectBody = z
  .strictObject({ environment: name.describe("A label that policies can match, such as `production`") })
  .meta({ id: "ProjectRequest", description: "What a project is to be" });

// What requests about projects may say.
import { z } from "zod";
import { name } from "./fields.ts";

export const projectBody = z.strictObject({ environment: name });

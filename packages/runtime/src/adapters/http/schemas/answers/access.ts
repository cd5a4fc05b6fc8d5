// What answers tell of keys and grants.
import { z } from "zod";
import { scopeName } from "../fields.ts";
import { at, atOrNull, pageOf, texts } from "./common.ts";

const keyFields = {
  key_id: z.string(),
  label: z.string(),
  principal: z.string(),
  project: z.string(),
  scopes: z.array(scopeName),
  roles: texts,
  created_at: at,
  expires_at: atOrNull,
  revoked_at: atOrNull,
  last_used_at: atOrNull.describe("Exact to a minute; null: never"),
};

export const key = z.strictObject(keyFields).meta({ id: "Key", description: "A key, without its secret" });

export const madeKey = z
  .strictObject({ ...keyFields, secret: z.string().describe("What goes behind `Bearer`; shown this once") })
  .meta({ id: "MadeKey", description: "A new key with its secret" });

export const keyPage = pageOf("KeyPage", key);

export const grant = z
  .strictObject({
    grant_id: z.string(),
    subject: z.string().describe("The principal it is given to"),
    project: z.string().describe("Empty: every project"),
    permissions: texts,
    roles: texts,
    created_at: at,
    created_by: z.string(),
    expires_at: atOrNull,
    revoked_at: atOrNull,
  })
  .meta({ id: "Grant", description: "Permissions and roles given to a principal" });

export const grantPage = pageOf("GrantPage", grant);

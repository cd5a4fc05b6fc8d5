// Which privileged built-in tools are on, and how weak a box they may have here: both only as an operator has said by name.
import { errorBody, type ErrorBody } from "@signalbox/protocol";
import type { ToolVersion } from "../registry/types.ts";
import { platformTenant } from "../tenancy/types.ts";

export interface Switches {
  /** Names of {@link privilegedTools}. */
  readonly on: ReadonlySet<string>;
  /** By tool: a rank in place of the `min` of a built-in's own manifest. Rules and provenance are not lowered by it. */
  readonly lowered: ReadonlyMap<string, number>;
}

/**
 * What models and people may only use where an operator wants it: arbitrary programs of the machine run in its boxes, and
 * what one call leaves in a workspace another one reads.
 */
export const privilegedTools = ["code.run", "fs.list", "fs.read", "fs.write", "shell.run"] as const;

const wholeTools: ReadonlySet<string> = new Set(privilegedTools.filter((name) => name !== "code.run"));

export const allOff: Switches = { on: new Set(), lowered: new Map() };

type Named = Pick<ToolVersion, "tenant" | "tool">;

/** `code.run` has one contract and two languages; JavaScript needs no program of the machine and no switch. */
export function isPythonOfCodeRun({ tenant, tool }: Named, args: unknown): boolean {
  if (tenant !== platformTenant || tool !== "code.run" || typeof args !== "object" || args === null) return false;
  return (args as { readonly language?: unknown }).language === "python";
}

/** The error of a call that needs a switch which is off; undefined where nothing is missing. */
export function offError({ on }: Switches, named: Named, args: unknown): ErrorBody | undefined {
  const name = isPythonOfCodeRun(named, args) ? "code.run" : isWholeToolOff({ on }, named) ? named.tool : undefined;
  if (name === undefined || on.has(name)) return undefined;
  const what = name === "code.run" ? "Python in code.run" : name;
  const message = `${what} is off; whoever runs this runtime can switch it on by name: signalbox dev --enable ${[...on, name].sort().join(",")}`;
  return errorBody("forbidden", message, { reason: "tool_off", switch: name }, false);
}

/** No call of it can come through, whatever its arguments: it is not listed. */
export function isWholeToolOff({ on }: Pick<Switches, "on">, { tenant, tool }: Named): boolean {
  return tenant === platformTenant && wholeTools.has(tool) && !on.has(tool);
}

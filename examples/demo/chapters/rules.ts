// Rules are written as files, tried out against cases, and put in force.
import type { Stage } from "../stage.ts";

export async function rulesArePublished(stage: Stage): Promise<void> {
  const { telling } = stage;
  const valid = await stage.cli("Policies are files; they are checked against the tools that they are about.", [
    "validate",
    "policies",
    "tools",
  ]);
  telling.check("six policies are in order", valid.stdout.match(/\.policy\.yaml: ok /g)?.length, 6);
  const tried = await stage.cli("A file of cases says what they must come to. Nothing is in force yet.", [
    "policies",
    "test",
    "policies/cases.yaml",
    "--policies",
    "policies",
  ]);
  telling.check("every case comes out as it must", tried.stdout.match(/^ok /gm)?.length, 12);
  const { stdout } = await stage.cli("They are put in force; a published version never changes after that.", [
    "policies",
    "publish",
    "policies",
  ]);
  telling.check("six policies are published", stdout.match(/ is published/g)?.length, 6);
  telling.check("one of them only observes", stdout, /payments-per-minute@1\.0\.0 is published, observes only/);
}

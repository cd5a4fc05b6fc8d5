// The first chapters: the tools become known to the runtime, and the application's worker connects.
import type { Stage } from "../stage.ts";

export async function registerTools(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.cli("Three manifests describe the tools: schema, side-effect class, time limits.", ["validate", "tools"]);
  const { stdout } = await stage.cli("They are registered; a version never changes after that.", [
    "tools",
    "register",
    "tools",
  ]);
  telling.check("three tools are active", stdout.match(/is registered, active$/gm)?.length, 3);
  const again = await stage.cli("The same again changes nothing.", ["tools", "register", "tools"]);
  telling.check("nothing was new", again.stdout.match(/was registered before, active$/gm)?.length, 3);
  const { stdout: list } = await stage.cli("A caller sees what there is, and how dangerous it is.", ["tools", "list"]);
  telling.check("payments.charge is unsafe to repeat", list, /payments\.charge +1\.0\.0 +non_idempotent_write/);
  telling.check("reports.build is safe to repeat", list, /reports\.build +1\.0\.0 +idempotent_write/);
}

export async function startWorker(stage: Stage): Promise<void> {
  const { telling } = stage;
  await stage.worker();
  const { stdout } = await stage.cli("It is a process of the application's own and dialled in by itself.", [
    "workers",
    "list",
  ]);
  for (const tool of ["payments.charge", "files.summarize", "reports.build"])
    telling.check(`the worker offers ${tool}`, stdout, new RegExp(`demo-worker-\\d+ .*\\b${tool}@1\\.0\\.0`));
}

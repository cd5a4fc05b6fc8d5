// In which group of the help a command stands.

/** In the order in which somebody comes to need them. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  "Begin:": ["dev", "serve", "init", "validate", "doctor", "worker"],
  "Calls:": ["run", "calls", "approvals", "files"],
  "Sessions:": ["chat", "sessions"],
  "What may run:": ["tools", "agents", "policies", "freeze", "unfreeze", "limits"],
  "Who may ask:": ["tenants", "projects", "keys", "grants"],
  "What goes on:": ["status", "workers", "usage", "audit", "webhooks", "ledger"],
  "This command line:": ["completion", "help"],
};

export function groupOf(command: string): string {
  return Object.keys(groups).find((heading) => groups[heading]?.includes(command)) ?? "Others:";
}

// Lines to copy, as the help of a command shows them; a test reads each of them against the tree of commands.

/** By the words of the command. */
export const examples: Readonly<Record<string, readonly string[]>> = {
  dev: [
    "signalbox dev",
    "signalbox dev --tools tools --policies policies --port 8081 --grpc-port 9091",
    "signalbox dev --cors-origin http://localhost:5173",
  ],
  run: [
    `signalbox run hello.greet --input '{"name":"Ada"}'`,
    "signalbox run payments.charge@1.2.0 --input @order.json --idempotency-key order-1042",
    "signalbox run report.build --follow",
    "signalbox run code.run --file data/orders.csv --input @program.json --timeout 5s",
  ],
  chat: [
    "signalbox chat support",
    "signalbox chat --session sess_01M8…",
    "signalbox chat support --message 'where is my order?' --json",
  ],
  sessions: [
    "signalbox sessions start support --message 'where is my order?' --wait 30s",
    "signalbox sessions list --status awaiting_input --agent support",
    "signalbox sessions inspect sess_01M8…",
  ],
  "sessions start": [
    "signalbox sessions start support --message 'where is my order?' --detach",
    "signalbox sessions start support --message @letter.txt --deadline 1h",
  ],
  "sessions cancel": [
    "signalbox sessions cancel sess_01M8… --reason 'the customer has rung up'",
    "signalbox sessions cancel sess_01M8… --call exec_01M8…",
  ],
  "sessions events": ["signalbox sessions events sess_01M8… --follow --after 12"],
  tools: ["signalbox tools list", "signalbox tools show hello.greet", "signalbox tools register tools"],
  "tools list": ["signalbox tools list --label tier=1", "signalbox tools list --json"],
  "tools register": ["signalbox tools register tools/hello", "signalbox tools register tools --no-activate"],
  calls: [
    "signalbox calls tail",
    "signalbox calls list --status failed --since 1h",
    "signalbox calls show exec_01M8…",
    "signalbox calls resolve exec_01M8… confirm --output @receipt.json",
  ],
  "calls list": [
    "signalbox calls list --tool payments.charge --since 2h",
    "signalbox calls list --status indeterminate --json",
    "signalbox calls list --watch",
  ],
  "calls tail": ["signalbox calls tail --status failed", "signalbox calls tail --tool payments.charge --json"],
  "calls resolve": [
    "signalbox calls resolve exec_01M8… confirm --output @receipt.json",
    "signalbox calls resolve exec_01M8… retry --comment 'the bank never saw it'",
  ],
  approvals: ["signalbox approvals list --mine", "signalbox approvals show apr_01M8… --watch"],
  "approvals list": [
    "signalbox approvals list --mine --watch",
    "signalbox approvals list --all --tool payments.charge",
  ],
  "approvals approve": [
    "signalbox approvals approve apr_01M8… --comment 'the offer says so'",
    "signalbox approvals approve apr_01M8… --args @smaller.json",
  ],
  agents: [
    "signalbox agents validate support",
    "signalbox agents publish support --deploy --comment 'answers in two languages'",
    "signalbox agents rollback support",
  ],
  policies: [
    "signalbox policies publish policies",
    "signalbox policies test cases.yaml --policies policies",
    `signalbox policies explain payments.charge --input '{"amount":1500}' --principal user:ann`,
  ],
  "policies explain": [
    `signalbox policies explain payments.charge --input '{"amount":1500}'`,
    "signalbox policies explain payments.charge --principal user:ann --role finance",
  ],
  keys: [
    "signalbox keys create --label checkout --principal service:checkout --scope tools:invoke --expires 90d",
    "signalbox keys revoke key_01M8…",
  ],
  grants: ["signalbox grants create --subject service:checkout --permission tool:invoke:payments.charge"],
  limits: [
    "signalbox limits set tool payments.charge --per-minute 300 --burst 50",
    "signalbox limits set tenant --executions-per-day 10000 --time-zone Europe/Paris",
    "signalbox limits list",
  ],
  "limits set": [
    "signalbox limits set tool payments.charge --per-minute 300 --burst 50",
    "signalbox limits set principal '*' --per-minute 60 --burst 10",
    "signalbox limits set project shop --concurrent 20 --queue-depth 200",
    "signalbox limits set tenant --executions-per-day 10000 --tenant acme --platform",
  ],
  usage: [
    "signalbox usage",
    "signalbox usage --by project,day --from 2026-01-01 --to 2026-01-31",
    "signalbox usage --by tenant --tenant '*' --platform --json",
  ],
  workers: ["signalbox workers list --watch"],
  status: ["signalbox status", "signalbox status --watch", "signalbox status --json"],
  audit: ["signalbox audit list --call exec_01M8…", "signalbox audit verify", "signalbox audit verify --local"],
  ledger: [
    "signalbox ledger export ledger.ndjson",
    "signalbox ledger import ledger.ndjson --ledger",
    "signalbox ledger migrate --dry-run",
  ],
  "ledger export": [
    "signalbox ledger export ledger.ndjson --store content",
    "signalbox ledger export ledger.ndjson --ledger",
  ],
  "ledger import": [
    "signalbox ledger import ledger.ndjson --ledger",
    "signalbox ledger import ledger.ndjson --data moved --audit-key-file old/audit.key --store content",
  ],
  "ledger migrate": ["signalbox ledger migrate --dry-run", "signalbox ledger migrate --ledger --dry-run --json"],
  completion: [
    "source <(signalbox completion bash)",
    "signalbox completion fish > ~/.config/fish/completions/signalbox.fish",
  ],
};

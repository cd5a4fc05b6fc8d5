// The manifest that `signalbox agents init` writes: an agent that can be published as it is.

export function agentTemplate(agent: string): string {
  return `# What the agent is, which model drives it and what it may do. Check it with: signalbox agents validate
apiVersion: signalbox.dev/v1
kind: Agent
metadata:
  name: ${agent}
  # A published version never changes: raise it with every change of this file.
  version: 1.0.0
  owner: me
  description: Answers questions, and looks things up where it has to.
spec:
  model:
    # anthropic, openai, scripted, or the name of a server that the runtime was given.
    provider: anthropic
    name: claude-sonnet-4-5
    max_output_tokens: 4096
  # What the model is told before everything else; or {file: instructions.md}.
  instructions: |
    Be kind and short. Say when you do not know something.
  # Each with one exact version. A binding may tighten what its tool says, never loosen it.
  tools:
    - tool: echo@1.0.0
      as: echo
      # input: {type: object, properties: {text: {maxLength: 200}}}
      # scheduling: exclusive
      # side_effect_class: irreversible_action
      # policies: [payments-need-a-person@1.0.0]
  # Published policies on all its calls.
  default_policies: []
  # What its calls may need at most; whoever starts a session must be granted it as well.
  permissions: ["*"]
  # Budgets of one turn: one message of a user until its answer.
  limits:
    max_steps: 20
    max_tokens: 200000
    max_wall_clock: 10m
    max_tool_calls: 50
    max_approval_wait: 24h
    max_concurrent_calls: 8
    # escalate: people are asked whether there is to be one more budget.
    on_limit: halt
  # References, never values: secret://name or env:NAME.
  secrets: {}
`;
}

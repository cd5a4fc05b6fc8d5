// A child session that gave no answer: what its caller is told, as the tool's own error.

export type ChildFailure = "agent_failed" | "agent_cancelled" | "agent_unavailable" | "agent_depth" | "invalid_message";

export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
  readonly code: ChildFailure;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ChildFailure, message: string, details: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

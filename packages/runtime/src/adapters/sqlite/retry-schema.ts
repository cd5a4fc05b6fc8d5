// What came with retries: the policy that a call was admitted under.

export const retryStatements: readonly string[] = ["ALTER TABLE calls ADD COLUMN retry_json TEXT"];

// Tells a store that cannot be used from a unit that must not be written.
import { LedgerUnavailable } from "../../ledger/port.ts";

/** Classes and codes of SQLSTATE that concern the server, the connection or the disk, never one unit's content. */
const storeFailureReasons: readonly (readonly [prefix: string, reason: string])[] = [
  ["08", "the connection to PostgreSQL failed; check that the server runs and can be reached"],
  ["25006", "this PostgreSQL server is read-only; connect to the primary one"],
  ["28", "PostgreSQL refused the login; check user and password of the ledger's URL"],
  ["3D000", "the database does not exist; create it, or correct the ledger's URL"],
  ["40", "PostgreSQL took the transaction back because of another one; it is tried again"],
  ["53100", "the disk of the PostgreSQL server is full; free space there, writing goes on by itself"],
  ["53300", "PostgreSQL has no connection left; raise max_connections, or lower the ledger's pool"],
  ["53", "the PostgreSQL server is short of resources; look into its log"],
  ["55P03", "a lock was not to be had in time; look for long transactions on the PostgreSQL server"],
  ["57", "the PostgreSQL server ended the connection; it is connected again by itself"],
  ["58", "the PostgreSQL server reported a system error; look into its log"],
  ["XX", "the PostgreSQL server reported damaged data or an internal error; look into its log"],
];

const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ENOENT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EHOSTDOWN",
]);

/** What the driver says without a code when a connection is gone or was never made. */
const lostConnection = /connection (is |was )?(terminated|closed|ended)|not queryable|timeout (exceeded|expired)|client has encountered|client was closed|cannot use a pool|SSL connections/i;

function codeOf(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether the connection it happened on is of no more use. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return networkCodes.has(code) || code.startsWith("08") || code.startsWith("57P") || (code === "" && lostConnection.test(error.message));
}

/** Whether no connection could be made: another try would find the same. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  return ["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "57P03"].includes(code) || /timeout/i.test(error.message);
}

/** The reason why the store itself failed, with the next step; undefined when the fault is in what was asked of it. */
export function storeFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = codeOf(error);
  if (isConnectionLoss(error) && !code.startsWith("57P")) return `the connection to PostgreSQL failed (${error.message || code}); it is tried again`;
  // Codes of SQLSTATE have five characters; system calls of Node share some prefixes with none of them.
  return code.length === 5 ? storeFailureReasons.find(([prefix]) => code.startsWith(prefix))?.[1] : undefined;
}

/** A failure of the store as {@link LedgerUnavailable}; any other error as it is. */
export function asLedgerError(error: unknown): Error {
  if (error instanceof LedgerUnavailable) return error;
  const reason = storeFailure(error);
  if (reason !== undefined) return new LedgerUnavailable(`The ledger cannot be used: ${reason}.`, { cause: error });
  return error instanceof Error ? error : new Error("A ledger statement failed.", { cause: error });
}

// Reads `spec.limits`: what one run may use, and how many may be at work; each limit with one unit in its name.
import { limits as shared } from "@signalbox/protocol";
import { field, readFields, readInteger, readSize, type Range } from "../../document/fields.ts";
import { under, type Notes } from "../../document/problems.ts";

const TiB = 1_024 ** 4;

/** Smallest and largest value that a manifest may ask for; an operator's own ceilings are applied later. */
const ranges: Readonly<Record<string, Range>> = {
  cpu: { min: 1, max: 256 },
  cpu_seconds: { min: 1, max: 86_400 },
  memory_bytes: { min: 1, max: TiB },
  disk_bytes: { min: 1, max: TiB },
  pids: { min: 1, max: 32_768 },
  fds: { min: 1, max: 1_048_576 },
  timeout_ms: { min: 1, max: shared.runTimeoutMsMax },
  output_bytes: { min: 1, max: shared.workMessageBytesMax },
  egress_bytes: { min: 1, max: TiB },
  concurrent_calls: { min: 1, max: 1_000_000 },
};

export const limitNames: readonly string[] = Object.keys(ranges);

/** Positive whole numbers; `64Mi` and the like for limits in bytes. */
export function readLimits(value: unknown, path: string, notes: Notes): Readonly<Record<string, number>> {
  const fields = value === undefined ? undefined : readFields(value, path, limitNames, notes);
  const read: Record<string, number> = {};
  for (const [name, range] of Object.entries(ranges)) {
    const given = field(fields, name);
    if (given === undefined) continue;
    const reader = name.endsWith("_bytes") ? readSize : readInteger;
    const limit = reader(given, under(path, name), range, notes);
    if (limit !== undefined) read[name] = limit;
  }
  return read;
}

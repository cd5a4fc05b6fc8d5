// The WASI preview 1 functions that a module may import: arguments, time to the millisecond, chance, five descriptors, two read-only folders.
import { errno, eventType, clockAbsolute, preview1Names, sizes, subscriptionsMax, writingNames } from "./abi.ts";
import { createFileFunctions } from "./file-functions.ts";
import { createGuestMemory, FaultError, type GuestMemory } from "./memory.ts";
import type { Preview1, Preview1Ports } from "./ports.ts";

/** The module asked to end with this code; thrown through its frames. */
export class GuestExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

const nsPerMs = 1_000_000n;
/** Of one call, so that a module cannot have the host fill gigabytes in one go. */
const randomBytesMax = 64 * 1024;

const clocks = { realtime: 0, monotonic: 1 } as const;

/**
 * A `catch_all` of the module may swallow a `GuestExit`. What is asked of the host after that is answered with it again, and
 * the first code counts; a module that goes on by itself is ended by the clock.
 */
export function createPreview1(ports: Preview1Ports): Preview1 {
  const memory = createGuestMemory(ports.memory);
  let exit: GuestExit | null = null;
  const written: Preview1 = {
    ...createTexts(memory, "args_sizes_get", "args_get", ports.args),
    ...createTexts(
      memory,
      "environ_sizes_get",
      "environ_get",
      Object.entries(ports.env).map(([name, value]) => `${name}=${value}`),
    ),
    ...createClocks(memory, ports),
    ...createFileFunctions(memory, ports),
    random_get(at: number, length: number) {
      for (let done = 0; done < length; done += randomBytesMax) {
        ports.random(memory.bytes(at + done, Math.min(randomBytesMax, length - done)));
      }
      return errno.success;
    },
    proc_exit(code: number) {
      exit ??= new GuestExit(code >>> 0);
      throw exit;
    },
    proc_raise: () => errno.nosys,
    sched_yield: () => errno.success,
  };
  const all = preview1Names.map((name) => {
    const unknown = writingNames.has(name) ? errno.rofs : errno.nosys;
    const call = guarded(written[name] ?? (() => unknown));
    return [name, (...numbers: never[]) => (exit === null ? call(...numbers) : rethrow(exit))] as const;
  });
  return Object.fromEntries(all);
}

function rethrow(exit: GuestExit): never {
  throw exit;
}

/** A pointer out of the module's memory is the module's mistake, not ours. */
function guarded(call: Preview1[string]): Preview1[string] {
  return (...numbers) => {
    try {
      return call(...numbers);
    } catch (error) {
      if (error instanceof FaultError) return errno.fault;
      throw error;
    }
  };
}

function createTexts(memory: GuestMemory, sizesName: string, getName: string, texts: readonly string[]): Preview1 {
  const encoded = texts.map((text) => new TextEncoder().encode(`${text}\0`));
  return {
    [sizesName](countAt: number, bytesAt: number) {
      memory.setU32(countAt, encoded.length);
      memory.setU32(
        bytesAt,
        encoded.reduce((sum, { length }) => sum + length, 0),
      );
      return errno.success;
    },
    [getName](pointersAt: number, bytesAt: number) {
      let at = bytesAt;
      encoded.forEach((text, index) => {
        memory.setU32(pointersAt + 4 * index, at);
        memory.copyIn(at, text);
        at += text.length;
      });
      return errno.success;
    },
  };
}

function createClocks(memory: GuestMemory, ports: Preview1Ports): Preview1 {
  /** Whole milliseconds: a finer clock would let a guest time what its neighbours do. */
  const now = (clock: number): bigint | null => {
    if (clock === clocks.realtime) return BigInt(Math.floor(ports.wallMs())) * nsPerMs;
    // Time on the processor is told as time since the start: nothing else is known of it in here.
    return clock < 4 ? BigInt(Math.floor(ports.monotonicMs())) * nsPerMs : null;
  };
  return {
    clock_res_get(clock: number, at: number) {
      if (now(clock) === null) return errno.inval;
      memory.setU64(at, nsPerMs);
      return errno.success;
    },
    clock_time_get(clock: number, _precision: bigint, at: number) {
      const time = now(clock);
      if (time === null) return errno.inval;
      memory.setU64(at, time);
      return errno.success;
    },
    poll_oneoff(subscriptionsAt: number, eventsAt: number, count: number, countAt: number) {
      if (count === 0 || count > subscriptionsMax) return errno.inval;
      const ready = pollOnce(memory, now, { at: subscriptionsAt, count });
      if (ready.waitMs > 0) ports.sleep(ready.waitMs);
      ready.events.forEach(({ userdata, type, code }, index) => {
        const at = eventsAt + sizes.event * index;
        memory.bytes(at, sizes.event).fill(0);
        memory.setU64(at, userdata);
        memory.setU16(at + 8, code);
        memory.setU8(at + 10, type);
      });
      memory.setU32(countAt, ready.events.length);
      return errno.success;
    },
  };
}

interface PollEvent {
  readonly userdata: bigint;
  readonly type: number;
  readonly code: number;
}

/** Descriptors are always ready here, so a poll waits for a clock only when it waits for nothing else. */
function pollOnce(
  memory: GuestMemory,
  now: (clock: number) => bigint | null,
  { at: start, count }: { readonly at: number; readonly count: number },
): { readonly waitMs: number; readonly events: readonly PollEvent[] } {
  const events: PollEvent[] = [];
  let next: { readonly event: PollEvent; readonly waitNs: bigint } | null = null;
  for (let index = 0; index < count; index++) {
    const at = start + sizes.subscription * index;
    const userdata = memory.u64(at);
    const type = memory.u8(at + 8);
    if (type !== eventType.clock) {
      events.push({ userdata, type, code: type <= eventType.fdWrite ? errno.success : errno.inval });
      continue;
    }
    const time = now(memory.u32(at + 16));
    if (time === null) {
      events.push({ userdata, type, code: errno.inval });
      continue;
    }
    const timeout = memory.u64(at + 24);
    const waitNs = (memory.u16(at + 40) & clockAbsolute) === 0 ? timeout : timeout > time ? timeout - time : 0n;
    const event = { userdata, type, code: errno.success };
    if (next === null || waitNs < next.waitNs) next = { event, waitNs };
  }
  if (events.length > 0 || next === null) return { waitMs: 0, events };
  // A wait of longer than a day is cut to one: the run's own time is up long before.
  const waitMs = Number((next.waitNs + nsPerMs - 1n) / nsPerMs);
  return { waitMs: Math.min(waitMs, 86_400_000), events: [next.event] };
}

// Compiles the box's rules into the classic BPF program that the kernel runs on every system call.
import { allowed, argRules, errno, refused, type ArgRule, type Errno } from "./seccomp-rules.ts";
import { auditArch, syscallNumbers, type SeccompArch } from "./seccomp-table.ts";

/** One instruction: operation, jumps when true and when false (counted from the next instruction), constant. */
export interface BpfInstruction {
  readonly code: number;
  readonly jt: number;
  readonly jf: number;
  readonly k: number;
}

/** Load a word of the call's data; jumps; return. */
export const bpf = { load: 0x20, jump: 0x05, ifEqual: 0x15, ifAtLeast: 0x35, ifAnyBit: 0x45, answer: 0x06 } as const;
export const answers = { allow: 0x7fff0000, errno: 0x00050000, killProcess: 0x80000000 } as const;
/** Where things stand in the data: number, architecture, low half of argument n on a little-endian machine. */
const offsets = { nr: 0, arch: 4, arg: (n: number): number => 16 + 8 * n };
/** Calls of the x32 interface are the 64-bit ones with this bit. */
const x32Bit = 0x4000_0000;
const shortJumpMax = 255;
const instructionsMax = 4_096;

const instruction = (code: number, k: number, jt = 0, jf = 0): BpfInstruction => ({ code, jt, jf, k: k >>> 0 });
const load = (offset: number): BpfInstruction => instruction(bpf.load, offset);
const answer = (k: number): BpfInstruction => instruction(bpf.answer, k);
const refuse = (error: Errno): BpfInstruction => answer(answers.errno | error);

/** From this number on (to the next range's) the same happens. */
interface Range {
  readonly from: number;
  readonly act: BpfInstruction | ArgRule;
}

/** @throws Error when a rule names a call that no architecture has, or the program grows past what the kernel takes */
export function compileSeccomp(arch: SeccompArch): readonly BpfInstruction[] {
  const x32 = arch === "x64" ? [instruction(bpf.ifAtLeast, x32Bit, 0, 1), refuse(errno.ENOSYS)] : [];
  const program = [
    load(offsets.arch),
    instruction(bpf.ifEqual, auditArch[arch], 1, 0),
    answer(answers.killProcess),
    load(offsets.nr),
    ...x32,
    ...search(rangesOf(arch)),
  ];
  if (program.length > instructionsMax) throw new Error(`the filter has ${program.length} instructions, too many`);
  return program;
}

function rangesOf(arch: SeccompArch): readonly Range[] {
  const numbers = syscallNumbers[arch];
  const act = new Map<number, Range["act"]>();
  const put = (name: string, what: Range["act"]): void => {
    const known = Object.values(syscallNumbers).some((table) => table[name] !== undefined);
    if (!known) throw new Error(`no architecture has a system call ${name}`);
    const nr = numbers[name];
    if (nr === undefined) return;
    if (act.has(nr)) throw new Error(`two rules for the system call ${name}`);
    act.set(nr, what);
  };
  const [let_, no, unknown] = [answer(answers.allow), refuse(errno.EPERM), refuse(errno.ENOSYS)];
  for (const name of allowed) put(name, let_);
  for (const name of refused) put(name, no);
  for (const rule of argRules) put(rule.name, rule);
  const last = Math.max(...act.keys());
  const ranges: Range[] = [];
  for (let nr = 0; nr <= last + 1; nr += 1) {
    const what = act.get(nr) ?? unknown;
    if (ranges.at(-1)?.act !== what) ranges.push({ from: nr, act: what });
  }
  return ranges;
}

/** A binary search by the call's number, which is loaded. */
function search(ranges: readonly Range[]): readonly BpfInstruction[] {
  const [first] = ranges;
  if (first === undefined) throw new Error("nothing to search in");
  if (ranges.length === 1) return "code" in first.act ? [first.act] : lookAt(first.act);
  const middle = ranges.length >> 1;
  const left = search(ranges.slice(0, middle));
  const right = search(ranges.slice(middle));
  const from = ranges[middle]?.from ?? 0;
  const way =
    left.length <= shortJumpMax
      ? [instruction(bpf.ifAtLeast, from, left.length, 0)]
      : [instruction(bpf.ifAtLeast, from, 0, 1), instruction(bpf.jump, left.length)];
  return [...way, ...left, ...right];
}

function lookAt({ arg, test, values, otherwise }: ArgRule): readonly BpfInstruction[] {
  const code = test === "none_of_bits" ? bpf.ifAnyBit : bpf.ifEqual;
  const [whenHit, whenNot] =
    test === "one_of" ? [answer(answers.allow), refuse(otherwise)] : [refuse(otherwise), answer(answers.allow)];
  const tests = values.map((value, index) => instruction(code, value, values.length - index, 0));
  return [load(offsets.arg(arg)), ...tests, whenNot, whenHit];
}

/** The program as the kernel reads it (struct sock_filter, little-endian, 8 bytes each). */
export function assembleSeccomp(program: readonly BpfInstruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  program.forEach(({ code, jt, jf, k }, index) => {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, jt);
    view.setUint8(index * 8 + 3, jf);
    view.setUint32(index * 8 + 4, k, true);
  });
  return bytes;
}

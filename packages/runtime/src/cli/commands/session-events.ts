// `signalbox sessions events`: the ordered stream of one session, from its beginning or from where somebody left off.
import type { SessionEvent } from "@signalbox/client";
import type { Command } from "commander";
import { openFollow, toldLine } from "../chat/open.ts";
import { following } from "../chat/following.ts";
import type { Told } from "../chat/told.ts";
import { CliError, Interrupted } from "../failure.ts";
import { pause } from "../pause.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";

interface EventsOptions {
  readonly follow?: boolean;
  readonly after?: string;
}

/** Events that one list reads; a session that goes on for days must not fill the memory. */
const eventsMax = 10_000;
/** Connections in a row that bring nothing. */
const triesMax = 10;

export function addSessionEvents(sessions: Command, runs: Runs): void {
  runs.online<EventsOptions>(
    sessions
      .command("events")
      .description("one session's events, in order; with --follow --json one a line")
      .argument("<session-id>")
      .option("--follow", "go on with what comes, until the session ends or Ctrl-C")
      .option("--after <seq>", "go on behind this event"),
    showEvents,
  );
}

async function showEvents(session: OnlineSession, [id = ""]: readonly string[], { follow, after }: EventsOptions): Promise<Outcome> {
  const seq = seqFlag(after);
  if (follow === true) return followEvents(session, id, seq);
  const items: SessionEvent[] = [];
  let next: number | null = seq;
  while (next !== null && items.length < eventsMax) {
    const page = await session.client.sessions.events(id, { after_seq: next, limit: 100 }, session);
    items.push(...page.items);
    next = page.next_after_seq;
  }
  session.print({ items, next_after_seq: next }, () =>
    session.table(items, [
      { title: "SEQ", cell: (event) => String(event.seq), align: "right" },
      { title: "TIME", cell: (event) => event.ts },
      { title: "TURN", cell: placeText },
      { title: "EVENT", cell: (event) => event.type },
      { title: "DATA", cell: (event) => JSON.stringify(event.data), shrinks: true },
    ]),
  );
  if (next !== null) session.remark(`more:  add --after ${next}`);
}

const placeText = ({ turn, step }: Pick<SessionEvent, "turn" | "step">): string => (step === 0 ? String(turn) : `${turn}.${step}`);

async function followEvents(session: OnlineSession, id: string, after: number): Promise<Outcome> {
  const place = { seq: after };
  const ports = {
    open: (afterSeq: number) => openFollow(session.client, id, afterSeq, session.signal),
    pause: (ms: number) => pause(ms, session.signal),
    random: Math.random,
    lost: ({ message }: Error) => session.remark(`${plainLine(message)}; trying again`),
    back: () => session.remark("the connection is back"),
  };
  try {
    for await (const told of following(ports, place, triesMax)) tell(session, told);
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(`interrupted; the session goes on\nnext:  signalbox sessions events ${plainLine(id)} --follow --after ${place.seq}`);
  }
}

function tell({ io, json, paint }: OnlineSession, told: Told): void {
  if (json) io.stdout.write(toldLine(told));
  else if (told.kind === "event") io.stdout.write(`${plainLine(`${told.seq}  ${told.ts}  ${placeText(told)}  ${told.type}`)}  ${paint.dim(plainLine(JSON.stringify(told.data)))}\n`);
}

function seqFlag(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,15}$/.test(text)) throw new CliError(`--after takes the number of an event, not "${text}"`);
  return Number(text);
}

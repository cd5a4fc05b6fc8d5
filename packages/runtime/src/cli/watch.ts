// Watches a list: on a terminal one picture that stays true, in a pipe a line for every piece of news.
import { follow } from "./follow.ts";
import type { FollowOptions } from "./follow.ts";
import { jsonLine } from "./json.ts";
import { createScreen } from "./screen.ts";
import type { Session } from "./session.ts";
import { cutToWidth, plainLine } from "./text.ts";

export interface News<Row> {
  readonly row: Row;
  /** For people; undefined where only programs are told. */
  readonly line: string;
  readonly paint?: (text: string) => string;
}

export interface Watched<Row> {
  /** The list as it is now. */
  readonly look: () => Promise<readonly Row[]>;
  readonly idOf: (row: Row) => string;
  /** @param before the same row at the last look; undefined = it was not there. Undefined is no news. */
  readonly news: (row: Row, before: Row | undefined) => Omit<News<Row>, "row"> | undefined;
  /** What became of a row that has left the list. */
  readonly gone?: (before: Row) => Promise<News<object> | undefined>;
  /** What a terminal shows: lines with a line feed each. */
  readonly picture: (rows: readonly Row[]) => string;
}

/** Until Ctrl-C. With `--json` every piece of news is the API's object on one line. */
export async function watch<Row>(session: Session, options: FollowOptions, watched: Watched<Row>): Promise<void> {
  if (session.io.isTTY && !session.json) return watchOnScreen(session, options, watched);
  let known: ReadonlyMap<string, Row> = new Map();
  await follow(session, options, async () => {
    const found = new Map((await watched.look()).map((row) => [watched.idOf(row), row]));
    for (const [id, row] of found) {
      const news = watched.news(row, known.get(id));
      if (news !== undefined) tell(session, { ...news, row });
    }
    for (const [id, before] of known) {
      const news = found.has(id) ? undefined : await watched.gone?.(before);
      if (news !== undefined) tell(session, news);
    }
    known = found;
    return false;
  });
}

async function watchOnScreen<Row>(
  session: Session,
  options: FollowOptions,
  { look, picture }: Watched<Row>,
): Promise<void> {
  const screen = createScreen(session.io);
  let shown = "";
  await follow(
    session,
    options,
    async () => {
      shown = picture(await look());
      screen.draw(shown);
      return false;
    },
    // The picture stays, with a word about its age.
    (text) => screen.draw(`${shown}${session.paint.yellow(`warning: ${text}`)}\n`),
  );
}

/** One line; a terminal's is cut to its width. */
export function tell<Row>({ io, json }: Session, { row, line, paint = (text) => text }: News<Row>): void {
  if (json) return void io.stdout.write(jsonLine(row));
  const plain = plainLine(line).trimEnd();
  const width = io.isTTY ? io.size()?.columns : undefined;
  io.stdout.write(`${paint(width === undefined ? plain : cutToWidth(plain, width))}\n`);
}

// Links from one page of this repository to another: whether the file, and the heading in it, are there.
import { posix } from "node:path";

/** @returns each link that leads nowhere, with its line */
export function brokenLinks(
  page: string,
  text: string,
  there: (path: string) => string | true | undefined,
): readonly string[] {
  return withoutBlocks(text).flatMap((line, index) =>
    [...line.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = ""]) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : posix.normalize(posix.join(posix.dirname(page), path));
      const found = path === "" ? text : there(file);
      if (found === undefined) return [`line ${index + 1}: there is no ${file}`];
      if (anchor === undefined || found === true || headings(found).includes(anchor)) return [];
      return [`line ${index + 1}: ${file} has no heading #${anchor}`];
    }),
  );
}

/** Their lines stay, empty, so that lines can be counted. */
export function withoutBlocks(text: string): readonly string[] {
  return text.replaceAll(/^(`{3,}).*\n[^]*?^\1$/gm, (block) => block.replaceAll(/.*/g, "")).split("\n");
}

/** As the places that show Markdown name them. */
function headings(text: string): readonly string[] {
  return withoutBlocks(text).flatMap((line) => {
    const title = /^#+ (.*)$/.exec(line)?.[1];
    if (title === undefined) return [];
    return title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
  });
}

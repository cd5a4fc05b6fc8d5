// Text from outside, made safe and measured for a terminal.

/** DEL, C1 (which a terminal obeys) and marks that turn the reading direction (which make a line read as another one). */
export const unseen = /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// oxlint-disable-next-line no-control-regex -- C0 without tab and line feed
const controls = /[\u0000-\u0008\u000b-\u001f]/g;

/** Nothing in the result can move the cursor, colour the screen or reorder the line: such characters show as `\u001b`. */
export function plain(text: string): string {
  return text.replace(controls, escaped).replace(unseen, escaped);
}

/** The same on one line. */
export function plainLine(text: string): string {
  return plain(text).replace(/[\n\t]/g, " ");
}

export function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const zeroWidth = /^[\p{Mn}\p{Me}\p{Default_Ignorable_Code_Point}]$/u;
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u;

/** Columns that the text takes on a terminal; good for tables, no claim to every emoji sequence. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    if (character >= " " && character <= "~") width += 1;
    else if (!zeroWidth.test(character)) width += wide.test(character) ? 2 : 1;
  }
  return width;
}

/** At most `widthMax` columns; what is cut ends in `…`. */
export function cutToWidth(text: string, widthMax: number): string {
  if (textWidth(text) <= widthMax) return text;
  let kept = "";
  let width = 0;
  for (const character of text) {
    const next = width + textWidth(character);
    if (next > widthMax - 1) break;
    kept += character;
    width = next;
  }
  return `${kept}…`;
}

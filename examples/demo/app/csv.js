// Reads CSV as RFC 4180 has it: quoted fields may hold commas, line feeds and doubled quotes.
// @ts-check

/** What does not hold together in a CSV text; `line` counts from 1. */
export class CsvError extends Error {
  /**
   * @param {number} line
   * @param {string} message
   */
  constructor(line, message) {
    super(`line ${line}: ${message}`);
    this.line = line;
  }
}

/**
 * @typedef {object} Table
 * @property {readonly string[]} columns
 * @property {readonly (readonly string[])[]} rows each as long as `columns`
 */

/**
 * The first record names the columns; every other one has as many fields.
 * @param {string} text
 * @returns {Table}
 * @throws {CsvError}
 */
export function parseTable(text) {
  const [head, ...rest] = parseRecords(text.replace(/^\uFEFF/, ""));
  if (head === undefined) throw new CsvError(1, "there is no line with the names of the columns");
  const columns = head.fields;
  if (new Set(columns).size < columns.length) throw new CsvError(1, "two columns have the same name");
  for (const { fields, line } of rest) {
    if (fields.length !== columns.length)
      throw new CsvError(line, `${fields.length} fields where ${columns.length} are named`);
  }
  return { columns, rows: rest.map(({ fields }) => fields) };
}

/** One field with what ends it; the text is read by it from field to field, without a gap. */
const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/**
 * @param {string} text
 * @returns {{ fields: string[], line: number }[]} each with the line that it starts on
 */
function parseRecords(text) {
  const records = [];
  /** @type {string[]} */
  let fields = [];
  let [line, startLine, at] = [1, 1, 0];
  while (at < text.length || fields.length > 0) {
    field.lastIndex = at;
    const found = field.exec(text);
    if (found === null) throw new CsvError(line, problemAt(text, at));
    const [whole, quoted, bare = "", end] = found;
    fields.push(quoted === undefined ? bare : quoted.replaceAll('""', '"'));
    at += whole.length;
    line += whole.split("\n").length - 1;
    if (end === ",") continue;
    records.push({ fields, line: startLine });
    fields = [];
    startLine = line;
  }
  return records;
}

/**
 * @param {string} text
 * @param {number} at where no field can be read
 */
function problemAt(text, at) {
  const closed = /"(?:[^"]|"")*"/y;
  closed.lastIndex = at;
  return text[at] === '"' && !closed.test(text) ? "a quote is not closed" : "a quote inside of a field";
}

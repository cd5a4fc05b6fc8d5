// Summarizes one CSV file; shows the contract of a packaged tool in plain Node, without a library.
import { readFileSync, writeSync } from "node:fs";
import { parseCsv } from "./csv.mjs";

const { args } = JSON.parse(readFileSync(0, "utf8"));
const say = (event) => writeSync(4, `${JSON.stringify(event)}\n`);

// The working directory is /workspace, where the call's files stand, read-only.
const [columns = [], ...rows] = parseCsv(readFileSync(args.file, "utf8"), args.separator ?? ",");
say({ progress: { percent: 50, message: `${rows.length} rows` } });

const ragged = rows.findIndex((row) => row.length !== columns.length);
if (ragged >= 0) {
  console.error(`row ${ragged + 1} has ${rows[ragged].length} cells, the head has ${columns.length}`);
  process.exit(1);
}

const numbers = {};
columns.forEach((column, at) => {
  const cells = rows.map((row) => row[at].trim()).filter((cell) => cell !== "");
  const values = cells.map(Number);
  if (values.length === 0 || values.some((value) => !Number.isFinite(value))) return;
  numbers[column] = {
    count: values.length,
    sum: values.reduce((sum, value) => sum + value, 0),
    min: Math.min(...values),
    max: Math.max(...values),
  };
});

// The one result, on file descriptor 3. What goes to stdout is shown to whoever follows the call.
writeSync(3, JSON.stringify({ rows: rows.length, columns, numbers }));

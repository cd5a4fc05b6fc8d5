// Follows one call from its start to its end: node examples/follow/follow.js 2026-10
import { createClient } from "@signalbox/client";

const { SIGNALBOX_URL: url = "http://127.0.0.1:8080", SIGNALBOX_KEY: key } = process.env;
const client = createClient({ url, key });
const [month] = process.argv.slice(2);

// #region follow
for await (const event of client.stream({ tool: "report.build", input: { month } })) {
  if (event.type === "stdout") process.stdout.write(event.data.text);
  if (event.type === "gap") console.warn(`events ${event.from} to ${event.to} are missing`);
  if (event.type === "done") console.log(event.data.output);
}
// #endregion follow

// `npm run fuzz`: hands over to test/fuzz/main.ts.
// @ts-check
import { main } from "../test/fuzz/main.ts";

process.exitCode = await main(process.argv.slice(2));

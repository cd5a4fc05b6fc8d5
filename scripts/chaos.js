// `npm run chaos`: hands over to test/chaos/main.ts.
// @ts-check
import { main } from "../test/chaos/main.ts";

process.exitCode = await main(process.argv.slice(2));

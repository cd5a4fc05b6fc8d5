// `npm run kit:boxes`: runs the conformance kit against every isolation backend of this host.
// @ts-check
import { main } from "../test/boxes/main.ts";

process.exitCode = await main(process.argv.slice(2));

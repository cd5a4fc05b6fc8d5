// `npm run isolation`: many tenants at once against the built runtime, and a look whether anything of one is met at another.
// @ts-check
import { main } from "../test/isolation/main.ts";

process.exitCode = await main(process.argv.slice(2));

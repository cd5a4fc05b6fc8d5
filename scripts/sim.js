// `npm run sim`: episodes of two and more replicas on one ledger, until the steps are done or a rule is broken.
// @ts-check
import "../test/sim/run.ts";

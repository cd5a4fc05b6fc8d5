// `npm run walk`: random episodes of the whole corridor, until the steps are walked or a rule is broken.
// @ts-check
import "../test/walk/run.ts";

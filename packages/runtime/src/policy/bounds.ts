// The bounds on policies: how much a document may say, and how much work deciding may be.

const secondMs = 1_000;
const dayMs = 24 * 3_600_000;

export const policyBounds = {
  documentDepthMax: 16,
  documentValuesMax: 5_000,
  reasonCharsMax: 500,
  /** Of one problem of a condition; names and parts of it stand in the message. */
  problemCharsMax: 400,
  patternCharsMax: 256,
  roleCharsMax: 128,

  approvalsMax: 16,
  approvalTimeoutMsMin: secondMs,
  approvalTimeoutMs: dayMs,
  approvalTimeoutMsMax: 30 * dayMs,

  conditionCharsMax: 4_096,
  /** Levels of the tree, and before it is parsed of the brackets: the parser's time grows with their square. */
  conditionDepthMax: 64,
  conditionNodesMax: 500,
  matchPatternCharsMax: 512,
  /** Instructions of one compiled `matches` pattern; `.{1,1000}` is about 2 000 of them. */
  matchProgramMax: 3_000,
  windowMsMin: secondMs,
  windowMsMax: 7 * dayMs,
  windowsPerConditionMax: 4,

  /** Steps of one evaluation: a node, or 64 characters of a text; guards against long lists in arguments. */
  evaluationStepsMax: 25_000,
  /** Steps of all the rules of one decision: some 20 ms at the most. */
  decisionStepsMax: 100_000,
  /** Characters × instructions of a `matches` pattern that make one step, by the slowest case measured (40 ns each). */
  matchUnitsPerStep: 16,
  /** Characters of a text that an evaluation may put together. */
  textCharsMax: 1_048_576,

  /** Tools whose schema one policy is checked against when it is published. */
  toolsCheckedMax: 1_000,
  toolsNamedMax: 20,
  /** Tools that a policy's patterns are held against when it is published, and of those it hits how many are told. */
  toolsKnownMax: 5_000,
  toolsHitShownMax: 1_000,
  /** Published versions of one name; they are never deleted, and every publishing looks through them. */
  versionsOfNameMax: 1_000,
  /** `$ref`s that follow one another at one place of a schema. */
  schemaRefChainMax: 16,
  /** Schemas looked at for one place: references beside one another can double at every step. */
  schemaLooksMax: 500,
  /** Entries of an enum, or branches of an anyOf, that the check of types looks at. */
  schemaBranchesMax: 100,

  /** Places in the index that one rule may take; guards against a rule that names many tools and many principals. */
  indexPlacesMax: 256,
  /** Rules that are looked through rather than split further. */
  indexLeafMax: 8,
  shadowWarningsMax: 10,

  casesMax: 1_000,
  /** Policies tried out beside those in force in one run of cases. */
  candidatesMax: 100,
  /** Time that one run of cases may take in all, and how long it may keep everybody else waiting at a stretch. */
  casesMsMax: 10_000,
  casesSliceMs: 10,
  caseTextCharsMax: 200,
} as const;

// Which test proves which bound: at the bound, and one past it. Where there is none it says why.

/** A file, and a part of the title of the test in it. */
export type Proof = readonly [file: string, title: string] | { readonly why: string };

const followed = "packages/runtime/src/cli/chat/following.test.ts";
const sessionBounds = "packages/runtime/src/corridor/sessions/bounds.test.ts";
const limitRoutes = "packages/runtime/src/adapters/http/routes/limits.test.ts";
const limitsAdmin = "packages/runtime/src/corridor/limits-admin.test.ts";
const buckets = "packages/runtime/src/schedule/buckets.test.ts";
const httpBodies = "packages/runtime/src/adapters/http/body.test.ts";
const atTheDoors = "test/e2e/limits.test.ts";
const codec = "packages/protocol/src/codec-bounds.test.ts";
const httpBounds = "packages/runtime/src/adapters/http/bounds.test.ts";
const manifests = "packages/runtime/src/registry/bounds.test.ts";
const ledgerRows = "packages/runtime/src/adapters/sqlite/call-writes.test.ts";
const errorTable = "test/e2e/error-table-extremes.test.ts";
const tenants = "packages/runtime/src/dispatch/tenants.test.ts";
const workerContext = "packages/worker/src/context.test.ts";
const hostEvents = "packages/runtime/src/dispatch/host-events.test.ts";
const workerCalls = "packages/worker/src/core-calls.test.ts";
const lastOutput = "packages/runtime/src/stream/last-output.test.ts";
const following = "packages/runtime/src/corridor/follow.test.ts";
const waitingCalls = "packages/runtime/src/call/waiting.test.ts";
const lostCalls = "packages/runtime/src/call/lost.test.ts";
const stoppedCalls = "packages/runtime/src/call/stop.test.ts";
const workerCore = "packages/worker/src/core.test.ts";
const placing = "packages/runtime/src/dispatch/place.test.ts";
const worker = "packages/worker/src/worker.test.ts";
const commits = "packages/runtime/src/dispatch/stored.test.ts";
const talking = "packages/runtime/src/dispatch/talk.test.ts";
const connections = "packages/runtime/src/adapters/http/connection.test.ts";
const boxes = "packages/runtime/src/corridor/boxes.test.ts";
const boxEvents = "packages/runtime/src/sandbox/contract-events.test.ts";
const boxResults = "packages/runtime/src/sandbox/contract-result.test.ts";
const files = "packages/runtime/src/corridor/files.test.ts";
const listings = "packages/runtime/src/registry/package/listing.test.ts";
const store = "packages/runtime/src/adapters/store/store.test.ts";
const paths = "packages/runtime/src/registry/package/bounds.test.ts";
const workspace = "packages/runtime/src/corridor/workspace.test.ts";
const workspaceTools = "test/e2e/fs-tools.test.ts";
const closedApprovals = "packages/runtime/src/policy/approval/close.test.ts";
const approvals = "packages/runtime/src/policy/approval/bounds.test.ts";
const openApprovals = "packages/runtime/src/policy/approval/pending.test.ts";
const openedApprovals = "packages/runtime/src/policy/approval/open.test.ts";
const webhooks = "packages/runtime/src/corridor/webhooks-admin.test.ts";
const choice = "packages/runtime/src/corridor/webhook-choice.test.ts";
const deliverer = "packages/runtime/src/corridor/webhooks-deliverer.test.ts";
const retries = "packages/runtime/src/corridor/webhook-retry.test.ts";
const preparedCalls = "packages/runtime/src/session/turn/prepare.test.ts";
const repeatedCalls = "packages/runtime/src/session/turn/repeats.test.ts";
const modelConfig = "packages/runtime/src/adapters/models/bounds.test.ts";
const claude = "packages/runtime/src/adapters/models/anthropic/model.test.ts";
const nearNames = "packages/runtime/src/document/nearest.test.ts";
const hostileSchemas = "packages/runtime/src/registry/schema/hostile.test.ts";
const memory = "packages/runtime/src/registry/lru.test.ts";
const policies = "packages/runtime/src/policy/bounds.test.ts";
const publishing = "packages/runtime/src/corridor/policy-admin-publish.test.ts";
const cases = "packages/runtime/src/corridor/policy-questions-cases.test.ts";
const callStream = "packages/runtime/src/stream/call-stream.test.ts";
const streams = "packages/runtime/src/corridor/streams.test.ts";
const streamKeeper = "packages/runtime/src/corridor/stream-keeper.test.ts";
const client = "packages/client/src/client.test.ts";
const clientStream = "packages/client/src/stream.test.ts";
const tenantRoutes = "packages/runtime/src/corridor/tenants.test.ts";
const keys = "packages/runtime/src/corridor/keys.test.ts";
const grpcRequests = "packages/runtime/src/adapters/grpc/api/requests.test.ts";
const grpcMany = "packages/runtime/src/adapters/grpc/api/many.test.ts";
const grpcDoor = "packages/runtime/src/adapters/grpc/api/door.test.ts";

const agentManifests = "packages/runtime/src/registry/agents/bounds.test.ts";
const agentDefaults = ["packages/runtime/src/registry/agents/manifest.test.ts", "the smallest manifest, with every default"] as const;
const agentDiffs = "packages/runtime/src/registry/agents/diff.test.ts";
const publishedAgents = "packages/runtime/src/corridor/agents/bounds.test.ts";

const pace = { why: "a pace, not a bound" } as const;
const anew = { why: "what is not kept is read or made anew" } as const;
const untold = { why: "what is over is only not told" } as const;
const anyType = { why: "what is not looked at is taken for any type" } as const;

export const proofs: Readonly<Record<string, Readonly<Record<string, Proof>>>> = {
  agentBounds: {
    toolsPerAgentMax: [agentManifests, "toolsPerAgentMax"],
    aliasCharsMax: [agentManifests, "aliasCharsMax"],
    bindingSchemasBytesMax: [agentManifests, "bindingSchemasBytesMax"],
    modelNameCharsMax: [agentManifests, "modelNameCharsMax"],
    instructionsBytesMax: [agentManifests, "instructionsBytesMax"],
    labelsMax: [agentManifests, "labelsMax"],
    secretsMax: [agentManifests, "secretsMax"],
    outputTokens: agentDefaults,
    outputTokensMax: [agentManifests, "outputTokensMax"],
    temperatureMax: [agentManifests, "temperatureMax"],
    steps: agentDefaults,
    stepsMax: [agentManifests, "stepsMax"],
    tokens: agentDefaults,
    tokensMax: [agentManifests, "tokensMax"],
    wallClockMs: agentDefaults,
    wallClockMsMin: [agentManifests, "wallClockMsMin"],
    wallClockMsMax: [agentManifests, "wallClockMsMax"],
    toolCalls: agentDefaults,
    toolCallsMax: [agentManifests, "toolCallsMax"],
    approvalWaitMs: agentDefaults,
    approvalWaitMsMin: [agentManifests, "approvalWaitMsMin"],
    approvalWaitMsMax: [agentManifests, "approvalWaitMsMax"],
    concurrentCalls: agentDefaults,
    concurrentCallsMax: [agentManifests, "concurrentCallsMax"],
    depthMax: ["packages/runtime/src/corridor/agents/agents.test.ts", "that run their parent in the end, or one another too deep"],
    agentsLookedAtMax: [publishedAgents, "no publication looks at more than 256 agents"],
    versionsMax: [publishedAgents, "no agent has more than 1 000 versions"],
    differencesMax: [agentDiffs, "500 differences are told"],
    commentCharsMax: ["packages/runtime/src/corridor/agents/agents.test.ts", "a comment has a bound"],
  },
  limits: {
    bodyBytesMax: [httpBodies, "1 MiB + 1 is refused"],
    inputBytesMax: [atTheDoors, "inputBytesMax: an input of 1 MiB is taken"],
    resultBytesMax: [atTheDoors, "resultBytesMax, and a caller's own max_output_bytes below it"],
    outputStreamBytesMax: [codec, "outputStreamBytesMax, in one piece"],
    jsonDepthMax: [httpBounds, "jsonDepthMax: 64 levels reach the runtime"],
    schemaBytesMax: [manifests, "schemaBytesMax"],
    schemaDepthMax: [manifests, "schemaDepthMax"],
    manifestBytesMax: [manifests, "manifestBytesMax: 256 KiB are read"],
    inlineResultBytesMax: [ledgerRows, "a row that is updated, by what it differs in and whole"],
    workMessageBytesMax: [codec, "workMessageBytesMax: a frame of 64 MiB is read"],
    errorMessageCharsMax: [atTheDoors, "errorMessageCharsMax: a tool's own message has 2 000 characters"],
    errorDetailsBytesMax: [atTheDoors, "errorDetailsBytesMax: a tool's own details are told up to 16 KiB"],
    idempotencyKeyCharsMax: [httpBounds, "idempotencyKeyCharsMax, in the header"],
    nameCharsMax: [atTheDoors, "idempotencyKeyCharsMax, nameCharsMax, contextBytesMax and jsonDepthMax"],
    contextBytesMax: [httpBounds, "contextBytesMax"],
    boxBytesMax: [manifests, "boxBytesMax and boxRestBytes"],
    queueDepthPerTenantMax: [errorTable, "queue_full: of 1 000 calls that wait the last is taken"],
    listItemsDefault: [httpBounds, "listItemsDefault and listItemsMax"],
    listItemsMax: [httpBounds, "listItemsDefault and listItemsMax"],
    handlersPerWorkerMax: [codec, "handlersPerWorkerMax"],
    workerCapacityMax: [codec, "workerCapacityMax"],
    workersPerTenantMax: [tenants, "a tenant has no more workers than its bound"],
    labelsPerWorkerMax: [codec, "labelsPerWorkerMax"],
    backendsPerWorkerMax: [codec, "backendsPerWorkerMax"],
    inFlightPerWorkerMax: [codec, "inFlightPerWorkerMax"],
    filesPerCallMax: [httpBounds, "filesPerCallMax"],
    pathCharsMax: [codec, "pathCharsMax"],
    secretNamesPerCallMax: [workerContext, "secretNamesPerCallMax: 64 secrets are asked for at once"],
    secretValueBytesMax: [codec, "secretValueBytesMax"],
    eventPayloadBytesMax: [workerContext, "eventPayloadBytesMax and nameCharsMax"],
    eventsPerCallMax: [hostEvents, "eventsPerCallMax: the 101st"],
    eventBytesPerCallMax: [hostEvents, "eventsPerCallMax and eventBytesPerCallMax"],
    outputChunkBytesMax: [workerCalls, "progress, output in pieces of 64 KiB with a running number"],
    syncWaitMs: [following, "patience %s ends, and the call goes on"],
    syncWaitMsMax: [httpBounds, "syncWaitMsMax"],
    resolveManyMax: [httpBounds, "resolveManyMax"],
    lastOutputLinesMax: [lastOutput, "lastOutputLinesMax: ten lines, and that there were more"],
    lastOutputBytesMax: [lastOutput, "lastOutputBytesMax: the newest characters that fit, none halved"],
    queueWaitMs: [waitingCalls, "the queue's deadline"],
    startDeadlineMs: [lostCalls, "accepted and not started within 10 s: lost"],
    runTimeoutMs: [manifests, "runTimeoutMs and graceMs hold where a manifest says nothing of them"],
    runTimeoutMsMax: [manifests, "runTimeoutMsMax"],
    graceMs: [stoppedCalls, "no word before the grace is over"],
    heartbeatMs: [workerCore, "every heartbeatMs, naming every lease"],
    workerSilentMs: [placing, "a worker that was not heard of for 10 s, until it is heard again"],
    leaseMs: [lostCalls, "a lease runs out at its instant, not a millisecond before"],
    retentionMs: ["test/e2e/retention.test.ts", "IDM-07: a key lives as long as its call"],
    drainMs: [worker, "an unacknowledged result holds it back for drainMs, and no longer"],
    lazyWriteMs: [commits, "goes by itself after 100 ms, lazily"],
    lostAttemptsMax: [lostCalls, "attempt + 1, three in all, then that error"],
    placementsMax: [lostCalls, "each refusal waits longer before the next lease, and the tenth is the last"],
    heartbeatsMissedMax: [talking, "a call left out of two in a row is lost"],
  },
  httpLimits: {
    headersWaitMs: [connections, "with its headers"],
    requestWaitMs: [connections, "with its body"],
    connectionCheckMs: pace,
    keepAliveMs: [httpBounds, "keepAliveMs: an idle connection is kept for 72 s"],
    headerBytesMax: [httpBounds, "headerBytesMax: headers of 16 KiB are read"],
    connectionsMax: [httpBounds, "connectionsMax: one connection more"],
    pathParameterCharsMax: { why: "never reached: headers are shorter" },
    lingerMs: [httpBodies, "a sender that falls silent is cut off"],
    lingerBytesMax: [httpBodies, "a sender without an end is cut off"],
    cursorCharsMax: [httpBounds, "cursorCharsMax"],
    reasonCharsMax: [httpBounds, "reasonCharsMax"],
    searchCharsMax: [httpBounds, "searchCharsMax"],
    urlCharsMax: [httpBounds, "urlCharsMax"],
    noticeTypesMax: [httpBounds, "noticeTypesMax"],
    policiesTriedMax: [httpBounds, "policiesTriedMax"],
    countWindowsMax: [httpBounds, "countWindowsMax"],
    permissionsMax: [httpBounds, "permissionsMax"],
    permissionCharsMax: [httpBounds, "permissionCharsMax"],
    rolesMax: [httpBounds, "rolesMax"],
    labelFilterCharsMax: [httpBounds, "labelFilterCharsMax"],
    totalDeadlineMsMax: [httpBounds, "totalDeadlineMsMax"],
    streamAliveMs: [httpBounds, "streamAliveMs: a stream is asked for a sign of life"],
    preflightAgeS: { why: "told to browsers, and kept by them" },
    faultsMax: [httpBounds, "faultsMax: of 20 faults all are named"],
  },
  apiLimits: {
    requestWaitMs: [grpcRequests, "a request that never ends is not waited for without end"],
    envelopeBytesMax: [grpcRequests, "a manifest of 256 KiB is read, one byte more is not"],
    pathFieldCharsMax: [grpcRequests, "a name that would be a part of the path and is %s does not reach the runtime"],
    outstandingMax: [grpcMany, "1 000 calls at once, and the next ones wait on the caller's side until some are answered"],
    receivedBytesMax: [grpcRequests, "a message that is far too large is refused at its first bytes"],
    outstandingBytesMax: [grpcMany, "and no more bytes of requests than is allowed"],
    followMs: pace,
    detailBytesMax: [grpcDoor, "%s: trailers stay within what clients take"],
    statusTextBytesMax: [grpcDoor, "%s: trailers stay within what clients take"],
  },
  boxDefaults: {
    cpu: [boxes, "an order holds all that the worker needs"],
    cpuSeconds: [boxes, "an order holds all that the worker needs"],
    memoryBytes: [boxes, "an order holds all that the worker needs"],
    diskBytes: [boxes, "an order holds all that the worker needs"],
    pids: [boxes, "an order holds all that the worker needs"],
    fds: [boxes, "an order holds all that the worker needs"],
    outputBytes: [boxes, "an order holds all that the worker needs"],
    egressBytes: [boxes, "an order holds all that the worker needs"],
  },
  contractBounds: {
    eventLineBytesMax: [boxEvents, "the line is longer than 278528 bytes"],
    eventLinesMax: [boxEvents, "after ten thousand lines one word, and then silence"],
    progressMessageCharsMax: [boxEvents, "long texts are cut, the rest stands"],
    stderrTailBytesMax: [boxResults, "is its end, of 4 KiB at most"],
  },
  filesLimits: {
    callBytesMax: [files, "too much together"],
    faultsMax: [files, "too many of them, and too many faults"],
    missingNamedMax: { why: "a package has no more files than that" },
  },
  packageBounds: {
    filesMax: [listings, "too many files are counted, not looked at"],
    bytesMax: [store, "one of 128 MiB is taken, and one byte more is refused"],
    fileBytesMax: [atTheDoors, "fileBytesMax: a file of 32 MiB is stored"],
    pathBytesMax: [paths, "pathBytesMax"],
    nameBytesMax: [paths, "nameBytesMax"],
    depthMax: [paths, "depthMax"],
    listingBytesMax: { why: "never reached: files and paths are bounded" },
  },
  storeLimits: {
    tenantBytesMax: [store, "bytes: the one that is too much is refused"],
    tenantFilesMax: [store, "bounds of a tenant"],
    writesAtOncePerTenantMax: [store, "writes at once: one more is refused"],
    unusedMs: [store, "is removed when it is old"],
    rememberedChecksMax: anew,
  },
  workspaceLimits: {
    workspaceFilesMax: [workspace, "ten thousand files are a workspace"],
    workspaceFileBytesMax: [workspace, "256 KiB are a file, one byte more is none"],
    workspaceListItemsMax: [workspaceTools, "workspaceListItemsMax and workspaceListItemsDefault"],
    workspaceListItemsDefault: [workspaceTools, "workspaceListItemsMax and workspaceListItemsDefault"],
    workspaceListPathBytesMax: [workspace, "long paths make a page shorter"],
  },
  approvalLimits: {
    depthMax: [closedApprovals, "five deep, then no"],
    routesMax: [approvals, "routesMax"],
    quorumMax: [approvals, "quorumMax"],
    editsMax: [openApprovals, "and after fifty of them"],
    commentCharsMax: [httpBounds, "commentCharsMax"],
    reasonCharsMax: [approvals, "reasonCharsMax"],
    timeoutMsMax: [approvals, "timeoutMsMax"],
  },
  approvalDefaults: {
    timeoutMs: [openedApprovals, "where no rule says it people have a day"],
  },
  tenancyBounds: {
    tenantsMax: [tenantRoutes, "finds no place in a runtime that has as many as it may have"],
    weightMin: [tenantRoutes, "has no weight of %j"],
    weightMax: [tenantRoutes, "has no weight of %j"],
    keysPerTenantMax: [keys, "keys that are alive; ended ones make room"],
    grantsPerTenantMax: [keys, "grants that are alive"],
    projectsPerTenantMax: [keys, "projects, by name and by a key for a new one; those there are go on"],
  },
  limitBounds: {
    perMinuteMax: [limitRoutes, "each at its bound, and one past it"],
    burstMax: [limitRoutes, "each at its bound, and one past it"],
    executionsPerDayMax: [limitRoutes, "each at its bound, and one past it"],
    cpuSecondsPerDayMax: [limitRoutes, "each at its bound, and one past it"],
    egressBytesPerDayMax: [limitRoutes, "each at its bound, and one past it"],
    concurrentExecutionsMax: [limitRoutes, "each at its bound, and one past it"],
    queueDepthMax: [limitRoutes, "each at its bound, and one past it"],
    timeZoneCharsMax: [limitRoutes, "each at its bound, and one past it"],
    limitsPerTenantMax: [limitsAdmin, "more than a thousand by one side; the other has room of its own"],
  },
  bucketBounds: {
    perLimitMax: [buckets, "those for whom there is no room share one"],
    allMax: [buckets, "a second limit has the rest of the room, and shares after that"],
  },
  webhookLimits: {
    webhooksPerTenantMax: [webhooks, "twenty webhooks a tenant"],
    urlCharsMax: [httpBounds, "urlCharsMax"],
    secretBytes: [webhooks, "no two secrets are alike"],
    atOnceMax: [choice, "eight in all, those that are due first"],
    atOncePerTenantMax: [choice, "six of one tenant"],
    atOncePerWebhookMax: [choice, "two of one webhook"],
    attemptMsMax: [deliverer, "without an answer is given up after 10 s"],
    attemptsMax: [retries, "the twelfth attempt is the last"],
    firstRetryMs: [retries, "doubles from 5 s and stops growing at an hour"],
    retryMsMax: [retries, "doubles from 5 s and stops growing at an hour"],
    retryJitter: [retries, "is spread by a tenth either way"],
    retryAfterMsMin: [retries, "Retry-After: %j is a wait of %s ms"],
    retryAfterMsMax: [retries, "Retry-After: %j is a wait of %s ms"],
    duePage: pace,
    duePageWide: pace,
    wideLookMs: pace,
    dueKeptPerTenant: [choice, "beyond its first 64"],
    putOffMs: [choice, "put off by 10 s"],
    crowdedLookMs: pace,
    lookMsMax: pace,
    ledgerRetryMs: [deliverer, "is asked again every second"],
    errorCharsMax: [retries, "its reason cut to what a list can show"],
  },
  projectionBounds: {
    textCharsMax: ["packages/runtime/src/session/projection.test.ts", "textCharsMax and payloadBytesMax"],
    payloadBytesMax: ["packages/runtime/src/session/projection.test.ts", "textCharsMax and payloadBytesMax"],
    projectionBytesMax: ["packages/runtime/src/corridor/sessions/projecting.test.ts", "projectionBytesMax: has 12 KiB"],
  },
  sessionLimits: {
    messageBytesMax: [sessionBounds, "messageBytesMax: a message of 256 KiB"],
    contextBytesMax: [sessionBounds, "contextBytesMax: a context of 15 KiB"],
    reasonCharsMax: [sessionBounds, "reasonCharsMax: a thousand characters"],
    depthMax: ["packages/runtime/src/corridor/sessions/child.test.ts", "depthMax: five below the root"],
    inboxWaitingMax: [sessionBounds, "inboxWaitingMax: a hundred messages"],
    timelineItemsMax: [sessionBounds, "timelineItemsMax: of a session with more"],
    timelineChildrenMax: [sessionBounds, "timelineChildrenMax: fifty children"],
    deltaCharsMax: [sessionBounds, "deltaCharsMax: a reader that does not read"],
  },
  followingBounds: {
    pauseMsFirst: [followed, "pauses grow to their bound"],
    pauseMsMax: [followed, "pauses grow to their bound"],
  },
  hostEventBounds: {
    toldBytesPerBatchMax: ["packages/runtime/src/corridor/sessions/host-events.test.ts", "toldBytesPerBatchMax: payloads beyond 4 MiB"],
  },
  turnBounds: {
    callsPerCompletionMax: [preparedCalls, "callsPerCompletionMax: the 129th call"],
    sameFailuresMax: [repeatedCalls, "sameFailuresMax: the fifth failure"],
    namesToldMax: [preparedCalls, "namesToldMax: twenty names are listed"],
    nameToldCharsMax: [preparedCalls, "nameToldCharsMax: a name of 65 characters"],
  },
  modelBounds: {
    modelNameCharsMax: [modelConfig, "modelNameCharsMax: a script's name"],
    toolNameCharsMax: [modelConfig, "toolNameCharsMax: what a script calls"],
    scriptedTextCharsMax: [modelConfig, "scriptedTextCharsMax: a text"],
    scriptedItemsMax: [modelConfig, "scriptedItemsMax: completions"],
    scriptedDelayMsMax: [modelConfig, "scriptedDelayMsMax: a wait"],
    scriptedTokensMax: [modelConfig, "scriptedTokensMax: usage"],
    whenCharsMax: [modelConfig, "whenCharsMax: a condition"],
    providersMax: [modelConfig, "providersMax: providers"],
    providerNameCharsMax: [modelConfig, "providerNameCharsMax: a name"],
    urlCharsMax: [modelConfig, "urlCharsMax: an address"],
    pathCharsMax: [modelConfig, "pathCharsMax: a file"],
    headersMax: [modelConfig, "headersMax: headers"],
    headerValueCharsMax: [modelConfig, "headerValueCharsMax: a header"],
    secretCharsMax: [modelConfig, "secretCharsMax: a key"],
    extraBodyValuesMax: [modelConfig, "extraBodyValuesMax: values"],
    extraBodyDepthMax: [modelConfig, "extraBodyDepthMax: nesting"],
    timeoutMs: [modelConfig, "has two minutes to begin"],
    timeoutMsMax: [modelConfig, "timeoutMsMax: a timeout"],
    idleTimeoutMs: [modelConfig, "has two minutes to begin"],
    idleTimeoutMsMax: [modelConfig, "idleTimeoutMsMax: silence"],
    maxRetries: [modelConfig, "has two minutes to begin"],
    maxRetriesMax: [modelConfig, "maxRetriesMax: tries"],
    retryWaitMsMax: [claude, "a provider that asks for more time than half a minute is not waited for"],
    retryAfterMsMax: [claude, "429 for two days"],
    answerBytesMax: [modelConfig, "answerBytesMax: an answer without end"],
    blocksMax: [modelConfig, "blocksMax: blocks of one answer"],
    providerIdCharsMax: [modelConfig, "providerIdCharsMax: an id is cut"],
  },
  documentBounds: {
    problemsMax: [manifests, "problemsMax: a hundred problems are told"],
    listItemsMax: [manifests, "listItemsMax"],
    mapEntriesMax: [manifests, "mapEntriesMax"],
    versionCharsMax: [manifests, "versionCharsMax"],
    nearNamesMax: untold,
    nearNamesLookedAtMax: [nearNames, "a long list of long names stays quick"],
  },
  bounds: {
    manifestValuesMax: [manifests, "manifestValuesMax: 20 000 values"],
    manifestDepthMax: [manifests, "manifestDepthMax: 48 levels"],
    yamlAliasesMax: [manifests, "yamlAliasesMax: twenty aliases"],
    yamlTokensMax: [manifests, "yamlTokensMax"],
    ownerCharsMax: [manifests, "ownerCharsMax"],
    categoryCharsMax: [manifests, "categoryCharsMax"],
    descriptionCharsMax: [manifests, "descriptionCharsMax"],
    labelsMax: [manifests, "labelsMax"],
    labelCharsMax: [manifests, "labelCharsMax"],
    textCharsMax: [manifests, "textCharsMax"],
    pathCharsMax: [manifests, "pathCharsMax"],
    envValueCharsMax: [manifests, "envValueCharsMax"],
    hostCharsMax: [manifests, "hostCharsMax"],
    boxRestBytes: [manifests, "boxBytesMax and boxRestBytes"],
    graceMsMax: [manifests, "graceMsMax"],
    agentTimeoutMs: [manifests, "agentTimeoutMs"],
    retryAttemptsMax: [manifests, "retryAttemptsMax"],
    retryDelayMsMax: [manifests, "retryDelayMsMax"],
    retryInitialMs: [manifests, "retryInitialMs and retryDelayMs"],
    retryDelayMs: [manifests, "retryInitialMs and retryDelayMs"],
    retryFactor: [manifests, "retryFactor"],
    retryFactorMax: [manifests, "retryFactorMax"],
    breakerFailuresMax: [manifests, "breakerFailuresMax"],
    breakerFailures: [manifests, "breakerFailures and breakerCoolDownMs"],
    breakerCoolDownMsMin: [manifests, "breakerCoolDownMsMin"],
    breakerCoolDownMsMax: [manifests, "breakerCoolDownMsMax"],
    breakerCoolDownMs: [manifests, "breakerFailures and breakerCoolDownMs"],
    cacheTtlMsMax: [manifests, "cacheTtlMsMax"],
    backendRankMax: [manifests, "backendRankMax"],
    schemaNodesMax: [manifests, "schemaNodesMax"],
    schemaValuesMax: [manifests, "schemaValuesMax: 20 000 values"],
    schemaBranchesMax: [manifests, "schemaBranchesMax"],
    schemaBranchesTotalMax: [manifests, "schemaBranchesTotalMax"],
    schemaEnumItemsMax: [manifests, "schemaEnumItemsMax"],
    schemaPatternsMax: [manifests, "schemaPatternsMax"],
    patternCharsMax: [manifests, "patternCharsMax"],
    patternProgramMax: [manifests, "patternProgramMax: 3 000"],
    schemaRefChainMax: [manifests, "schemaRefChainMax"],
    formatCharsMax: [manifests, "formatCharsMax: of a text"],
    schemaErrorsMax: [manifests, "schemaErrorsMax: of a value"],
    schemaErrorsSeenMax: untold,
    schemaErrorsHeldMax: [hostileSchemas, "branches over recursion, which double with every level, end at the budget"],
    validationUnitsBase: [hostileSchemas, "branches over recursion, which double with every level, end at the budget"],
    validationUnitsPerValue: [hostileSchemas, "a large honest value is no hostile one"],
    validationUnitsPerChar: [hostileSchemas, "a large honest value is no hostile one"],
    patternStepsPerUnit: [hostileSchemas, "a pattern with large repeats on a long text costs too much"],
    errorTextCharsMax: untold,
    compiledSchemasMax: [memory, "the cache makes each thing once"],
    rememberedToolsMax: anew,
    rememberedVersionsMax: anew,
    listedVersionsMax: [memory, "entries may weigh more than others"],
    rememberedPicksMax: anew,
    rememberedTenantsMax: anew,
  },
  policyBounds: {
    documentDepthMax: [policies, "documentDepthMax: 16"],
    documentValuesMax: [policies, "documentValuesMax: 5 000"],
    reasonCharsMax: [policies, "reasonCharsMax"],
    problemCharsMax: [policies, "problemCharsMax: a problem"],
    patternCharsMax: [policies, "patternCharsMax"],
    roleCharsMax: [policies, "roleCharsMax"],
    approvalsMax: [policies, "approvalsMax"],
    approvalTimeoutMsMin: [policies, "approvalTimeoutMsMin"],
    approvalTimeoutMs: [policies, "approvalTimeoutMs: a day"],
    approvalTimeoutMsMax: [policies, "approvalTimeoutMsMax"],
    conditionCharsMax: [policies, "conditionCharsMax"],
    conditionDepthMax: [policies, "conditionDepthMax"],
    conditionNodesMax: [policies, "conditionNodesMax"],
    matchPatternCharsMax: [policies, "matchPatternCharsMax"],
    matchProgramMax: [policies, "matchProgramMax: 3 000"],
    windowMsMin: [policies, "windowMsMin: a window"],
    windowMsMax: [policies, "windowMsMax"],
    windowsPerConditionMax: [policies, "windowsPerConditionMax"],
    evaluationStepsMax: [policies, "evaluationStepsMax: a rule"],
    decisionStepsMax: [policies, "decisionStepsMax: rules"],
    matchUnitsPerStep: { why: "a price, not a bound" },
    textCharsMax: [policies, "textCharsMax: a text"],
    toolsCheckedMax: untold,
    toolsNamedMax: untold,
    toolsKnownMax: [publishing, "beyond 5 000 tools the rest is not looked at, and that is said"],
    toolsHitShownMax: [publishing, "beyond 5 000 tools the rest is not looked at, and that is said"],
    versionsOfNameMax: [publishing, "no name has more than 1 000 versions"],
    schemaRefChainMax: anyType,
    schemaLooksMax: anyType,
    schemaBranchesMax: anyType,
    indexPlacesMax: { why: "such a rule is looked through for every call" },
    indexLeafMax: pace,
    shadowWarningsMax: untold,
    casesMax: [policies, "casesMax: 1 000"],
    candidatesMax: [cases, "more candidates than one may try"],
    casesMsMax: [cases, "others get their turn between cases, and a file that takes too long is not gone on with"],
    casesSliceMs: [cases, "others get their turn between cases, and a file that takes too long is not gone on with"],
    caseTextCharsMax: [policies, "caseTextCharsMax: a case's"],
  },
  streamBounds: {
    keptCharsMax: [callStream, "a flood takes no more room than its bound"],
    batchCharsMax: [callStream, "a look is bounded, and the next one goes on"],
    leapSeqs: [streams, "numbers leap"],
  },
  keeperBounds: {
    saveMs: [streamKeeper, "a hundred milliseconds after it was said"],
    saveChars: [streamKeeper, "64 KiB go at once"],
    savePauseMs: [streamKeeper, "a flood is written at a pace"],
    pausePerSave: [streamKeeper, "a flood is written at a pace"],
    savePauseMsMax: [streamKeeper, "a flood is written at a pace"],
    unitCharsMax: [streamKeeper, "a flood is written at a pace"],
    keptCharsMax: [streamKeeper, "the ledger keeps the newest MiB of a call"],
    waitingCharsMax: [streamKeeper, "more than can be written is lost by those who have waited longest"],
    quietMs: [streamKeeper, "and is told once a minute"],
  },
  retryDefaults: {
    attemptsMax: [client, "it gives up after twenty times in all"],
    initialDelayMs: [client, "with longer and longer waits"],
    maxDelayMs: [client, "with longer and longer waits"],
    deadlineMs: [client, "but not beyond the deadline"],
  },
  clientLimits: {
    requestTimeoutMs: [client, "no answer says where and why"],
    answerBytesMax: [client, "an answer without end is cut off"],
  },
  streamLimits: {
    fruitlessTriesMax: [clientStream, "ten tries in a row that bring nothing are enough"],
    silentMsMax: [clientStream, "a connection on which nothing comes any more is closed"],
  },
};

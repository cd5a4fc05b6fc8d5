"""What requests and answers hold."""
# Made from docs/openapi.json by `npm run generate:python`; changes here are lost.

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

class ActivateRequest(TypedDict):
    """The version to run."""

    # An exact version
    version: str


class Activation(TypedDict):
    """One choice of the active version."""

    tool: str
    version: str
    at: str
    by: str


class ActivationPage(TypedDict):
    """One page of a list."""

    items: List[Activation]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class Agent(TypedDict):
    """An agent: a name, and which version runs for it."""

    agent: str
    # What a session runs that names none; null: none is deployed
    deployed_version: Optional[str]
    # The one that was published last
    latest_version: str
    description: str
    owner: str
    created_at: str
    # An archived agent starts no sessions; null: it is none
    archived_at: Optional[str]


class AgentChange(TypedDict):
    """One thing that was done to an agent."""

    agent: str
    action: Literal[
        "publish",
        "deploy",
        "roll_back",
        "deprecate",
        "undeprecate",
        "retire",
        "archive",
        "unarchive",
    ]
    # Null: the whole agent was meant
    version: Optional[str]
    at: str
    by: str
    comment: str


class AgentChangePage(TypedDict):
    """One page of a list."""

    items: List[AgentChange]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class AgentDetail(TypedDict):
    """An agent with one version whole."""

    agent: str
    # What a session runs that names none; null: none is deployed
    deployed_version: Optional[str]
    # The one that was published last
    latest_version: str
    description: str
    owner: str
    created_at: str
    # An archived agent starts no sessions; null: it is none
    archived_at: Optional[str]
    # All versions, in the order in which they were published
    versions: List[str]
    # The shown version
    version: AgentVersion


class AgentDiffDifferencesItem(TypedDict):
    # Where, like `spec.tools["payments.charge"].version`
    path: str
    # Null: it is not there
    before: Any
    # Null: it is not there
    after: Any


_AgentDiffFields = TypedDict(
    "_AgentDiffFields",
    {
        "agent": "str",
        "from": "str",
        "to": "str",
        "differences": "List[AgentDiffDifferencesItem]",
        "more": "int",
    },
    total=True,
)


class AgentDiff(_AgentDiffFields):
    """Two versions held side by side."""


class AgentPage(TypedDict):
    """One page of a list."""

    items: List[Agent]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class AgentSpecModel(TypedDict):
    provider: str
    name: str
    max_output_tokens: int
    # Null: as the provider sees fit
    temperature: Optional[float]


class AgentSpecLimits(TypedDict):
    max_steps: int
    max_tokens: int
    max_wall_clock_ms: int
    max_tool_calls: int
    max_approval_wait_ms: int
    max_concurrent_calls: int
    on_limit: Literal["halt", "escalate"]


class AgentSpec(TypedDict):
    """A manifest's `spec`, defaults filled in; times in ms."""

    model: AgentSpecModel
    instructions: str
    tools: List[ToolBinding]
    default_policies: List[str]
    # What its calls may need at most
    permissions: List[str]
    limits: AgentSpecLimits
    # References, by name
    secrets: Dict[str, str]


class AgentVersion(TypedDict):
    """One immutable published version."""

    agent: str
    version: str
    # Stands in the ids of its calls
    version_id: str
    owner: str
    description: str
    labels: Dict[str, str]
    # `deprecated`: starts no sessions; `retired`: the same, for good
    status: Literal["published", "deprecated", "retired"]
    # Whether it is what new sessions run that name no version
    deployed: bool
    # SHA-256 of the canonical manifest
    manifest_digest: str
    # Agents that its tools run, each with the version that was deployed when this was published
    children: Dict[str, str]
    published_at: str
    published_by: str
    spec: AgentSpec


class AgentVersionLine(TypedDict):
    """One version in a list."""

    agent: str
    version: str
    version_id: str
    # `deprecated`: starts no sessions; `retired`: the same, for good
    status: Literal["published", "deprecated", "retired"]
    deployed: bool
    manifest_digest: str
    # `provider/name`
    model: str
    # How many it may call
    tools: int
    published_at: str
    published_by: str


class AgentVersionPage(TypedDict):
    """One page of a list."""

    items: List[AgentVersionLine]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class _AgentVersionRequestRequired(TypedDict):
    # An exact version
    version: str


class AgentVersionRequest(_AgentVersionRequestRequired, total=False):
    """The version that it is about."""

    # Kept with the change and in the audit
    comment: str


class ApprovalRoutesItem(TypedDict):
    # The role that a voter must hold; empty: anybody who may decide
    route: str
    # Distinct people who must say yes
    quorum: int


class Approval(TypedDict):
    """A question put to people."""

    approval_id: str
    status: Literal["pending", "approved", "rejected", "expired", "cancelled", "escalated"]
    # `call`: may it run; `resolve`: how did it end; `limit`: may a session go on
    kind: Literal["call", "resolve", "limit"]
    execution_id: Optional[str]
    session_id: Optional[str]
    project: str
    tool: str
    version: str
    # Who made the call
    requester: str
    # For whom an agent made it; empty: for nobody
    on_behalf_of: str
    # Why people are asked
    reason: str
    routes: List[ApprovalRoutesItem]
    # Whoever made the call has no vote
    distinct_from_requester: bool
    # A yes must say that its voter understands what it allows
    comprehension: bool
    on_timeout: Literal["deny", "allow", "escalate"]
    # Whether a no fails the call, or is told to the agent
    on_reject: Literal["return_to_agent", "fail"]
    # The role that is asked after a timeout
    escalate_to: Optional[str]
    # Escalations before this approval
    depth: int
    escalated_from: Optional[str]
    escalated_to: Optional[str]
    # SHA-256 of the canonical arguments that voters see; a vote names it
    args_hash: str
    # A person changed the arguments
    edited: bool
    opened_at: str
    expires_at: str
    closed_at: Optional[str]
    # Whose word closed it; `runtime`: nobody's
    closed_by: Optional[str]
    # `recheck_failed`: it was approved, and the call may no longer run
    outcome: Optional[Literal[
        "approved",
        "rejected",
        "expired",
        "timeout_allowed",
        "escalated",
        "cancelled",
        "recheck_failed",
    ]]


class ApprovalDemand(TypedDict):
    """Whom a policy asks, and for how long."""

    # The role that a voter must hold; empty: anybody who may decide
    route: str
    # Distinct people who must say yes
    approvals: int
    timeout_ms: int
    # Whoever made the call has no vote
    distinct_from_requester: bool
    # A yes must say that its voter understands what it allows
    comprehension: bool
    on_timeout: Literal["deny", "allow", "escalate"]
    # Whether a no fails the call, or is told to the agent
    on_reject: Literal["return_to_agent", "fail"]
    # The role that is asked after a timeout
    escalate_to: Optional[str]


class ApprovalDetailRoutesItem(TypedDict):
    # The role that a voter must hold; empty: anybody who may decide
    route: str
    # Distinct people who must say yes
    quorum: int
    # Who has said yes so far
    voters: List[str]


class _ApprovalDetailRequired(TypedDict):
    approval_id: str
    status: Literal["pending", "approved", "rejected", "expired", "cancelled", "escalated"]
    # `call`: may it run; `resolve`: how did it end; `limit`: may a session go on
    kind: Literal["call", "resolve", "limit"]
    execution_id: Optional[str]
    session_id: Optional[str]
    project: str
    tool: str
    version: str
    # Who made the call
    requester: str
    # For whom an agent made it; empty: for nobody
    on_behalf_of: str
    # Why people are asked
    reason: str
    routes: List[ApprovalDetailRoutesItem]
    # Whoever made the call has no vote
    distinct_from_requester: bool
    # A yes must say that its voter understands what it allows
    comprehension: bool
    on_timeout: Literal["deny", "allow", "escalate"]
    # Whether a no fails the call, or is told to the agent
    on_reject: Literal["return_to_agent", "fail"]
    # The role that is asked after a timeout
    escalate_to: Optional[str]
    # Escalations before this approval
    depth: int
    escalated_from: Optional[str]
    escalated_to: Optional[str]
    # SHA-256 of the canonical arguments that voters see; a vote names it
    args_hash: str
    # A person changed the arguments
    edited: bool
    opened_at: str
    expires_at: str
    closed_at: Optional[str]
    # Whose word closed it; `runtime`: nobody's
    closed_by: Optional[str]
    # `recheck_failed`: it was approved, and the call may no longer run
    outcome: Optional[Literal[
        "approved",
        "rejected",
        "expired",
        "timeout_allowed",
        "escalated",
        "cancelled",
        "recheck_failed",
    ]]
    votes: List[Vote]
    policy: Optional[Decision]
    # Why the caller has no vote here; null: it has one
    may_not_vote: Optional[str]
    # The arguments as they would run; numbers keep their digits
    args: Any
    execution: Optional[Execution]


class ApprovalDetail(_ApprovalDetailRequired, total=False):
    """A question with its votes, its arguments and its call."""

    # What the vote of this request came to
    said: Literal["counted", "repeated", "stored_outcome"]


class ApprovalPage(TypedDict):
    """One page of a list."""

    items: List[Approval]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class ApprovalRequirementsRoutesItem(TypedDict):
    route: str
    quorum: int


class ApprovalRequirements(TypedDict):
    """What all matching rules together ask for."""

    routes: List[ApprovalRequirementsRoutesItem]
    timeout_ms: int
    reason: str
    # Whoever made the call has no vote
    distinct_from_requester: bool
    # A yes must say that its voter understands what it allows
    comprehension: bool
    on_timeout: Literal["deny", "allow", "escalate"]
    # Whether a no fails the call, or is told to the agent
    on_reject: Literal["return_to_agent", "fail"]
    # The role that is asked after a timeout
    escalate_to: Optional[str]


class ArchiveAgentRequest(TypedDict, total=False):
    """Why the agent goes, or comes back."""

    # Kept with the change and in the audit
    comment: str


class Attempt(TypedDict):
    """A try in which code may have run."""

    attempt: int
    # Number of its lease
    fence: int
    worker: str
    dispatched_at: str
    accepted_at: Optional[str]
    started_at: Optional[str]
    ended_at: Optional[str]
    # `succeeded`, `failed`, `lease_expired` …
    end_reason: Optional[str]
    error: Optional[CallError]
    duration_ms: Optional[float]


class AuditPage(TypedDict):
    """One page of a list."""

    items: List[AuditRecord]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class AuditRecordPolicy(TypedDict):
    decision: str
    ids: List[str]


class AuditRecordApproval(TypedDict):
    by: List[str]
    at: str


class _AuditRecordRequired(TypedDict):
    # The writer's lane; `seq` counts inside, from 1 without holes
    lane: str
    seq: int
    ts: str
    tenant: str
    project: str
    principal: str
    # `call.settled`, `call.denied`, `key.created` …
    action: str
    # 64 zeros on the first record of a lane
    prev_hash: str
    # HMAC-SHA-256 over the previous hash and the record
    hash: str


class AuditRecord(_AuditRecordRequired, total=False):
    """One link of the audit's chain; facts that it lacks are left out."""

    on_behalf_of: str
    tool: str
    version: str
    manifest_digest: str
    execution_id: str
    call_id: str
    attempt: int
    input_hash: str
    output_hash: str
    status: str
    error_code: str
    sandbox: str
    worker: str
    egress: List[str]
    secrets_used: List[str]
    policy: AuditRecordPolicy
    approval: AuditRecordApproval
    cache: str
    duration_ms: float
    resources: Dict[str, float]
    request_id: str
    trace_id: str
    # Facts of administrative acts
    details: Dict[str, Any]


class AuditVerdictProblemsItem(TypedDict):
    tenant: str
    lane: str
    # The first one at which the chain does not hold
    seq: int
    kind: Literal[
        "edited",
        "missing",
        "cut_tail",
        "head_missing",
        "head_edited",
        "anchor_ahead",
        "anchor_missing",
        "anchor_edited",
    ]
    message: str


class AuditVerdict(TypedDict):
    """Whether the chain holds."""

    ok: bool
    records: int
    lanes: int
    problems: List[AuditVerdictProblemsItem]


class CallCounts(TypedDict, total=False):
    """Calls so far, for rules that count them."""

    # Calls in this turn
    turn: int
    # Calls in this session
    session: int
    # Calls by length of the window, such as `10m`; at most 32 windows
    windows: Dict[str, int]


class _CallErrorRequired(TypedDict):
    code: ErrorCode
    # For people; names the next step. Not stable
    message: str
    # The kind of trouble, for programs that group errors
    type: Literal[
        "authentication",
        "permission",
        "not_found",
        "invalid_request",
        "limit",
        "conflict",
        "tool",
        "routing",
        "runtime",
        "cancelled",
    ]
    # True where the same request may be sent again: it is safe, and it can help
    retryable: bool


class CallError(_CallErrorRequired, total=False):
    """Why a call, or one attempt of it, did not end well."""

    # Facts by code, such as the fields at fault
    details: Dict[str, Any]


class _CallFileRequired(TypedDict):
    # Relative, with `/` between its parts
    path: str


class CallFile(_CallFileRequired, total=False):
    """One input file of a call."""

    # The file itself, as text; or `ref`
    content: str
    # Digest of a stored file; or `content`
    ref: str


class CallLimits(TypedDict, total=False):
    """Lowers the tool's own limits; what is higher than those changes nothing."""

    # Time to run in ms
    timeout_ms: int
    # Size of the result in bytes of JSON
    max_output_bytes: int


class CancelSessionRequest(TypedDict, total=False):
    """What of a session is to stop."""

    # What is stopped: the session for good, its turn, the calls that run together, or one call
    scope: Literal["session", "turn", "batch", "call"]
    # With scope `call`: which one
    execution_id: str
    # For people and the audit
    reason: str


class ChildTimeline(TypedDict):
    """Everything that a child did; `session` names its parent."""

    session: SessionLine
    history: List[HistoryItem]
    # By turn, step and index
    calls: List[SessionCall]
    approvals: List[SessionApproval]
    events: List[SessionEvent]
    # There is more of it than is shown
    cut: bool


class _DecisionRequired(TypedDict):
    decision: Literal["allow", "deny", "require_approval"]
    reason: str
    rules: List[MatchedRule]


class Decision(_DecisionRequired, total=False):
    """What the rules decided about a call."""

    obligations: Obligations


class Delivery(TypedDict):
    """One notice on its way to one webhook."""

    # The same on every attempt
    delivery_id: str
    webhook_id: str
    type: str
    approval_id: str
    # When it happened
    at: str
    # Hashes, names and counts; never arguments
    data: Dict[str, Any]
    state: Literal["pending", "delivered", "dead"]
    attempts: int
    next_at: Optional[str]
    ended_at: Optional[str]
    # HTTP status of the last attempt
    last_status: Optional[int]
    last_error: Optional[str]


class DeliveryPage(TypedDict):
    """One page of a list."""

    items: List[Delivery]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class _DeprecateAgentRequestRequired(TypedDict):
    # An exact version
    version: str


class DeprecateAgentRequest(_DeprecateAgentRequestRequired, total=False):
    """A version that is to start no more sessions, or may again."""

    # False takes the mark away
    deprecated: bool
    # Kept with the change and in the audit
    comment: str


class _DeprecateRequestRequired(TypedDict):
    # An exact version
    version: str


class DeprecateRequest(_DeprecateRequestRequired, total=False):
    """The version that ranges are to pass over."""

    # `false` takes it back
    deprecated: bool


class _EditedArgumentsRequired(TypedDict):
    # Who changed the arguments
    by: str


class EditedArguments(_EditedArgumentsRequired, total=False):
    """That a person changed the arguments, and into what."""

    # The arguments that run; not in lists
    args: Any
    # The arguments as they were sent
    original_args: Any
    # The same for a model, of a call that ran
    note: str


class EnableRequest(TypedDict, total=False):
    """The project that it is about."""

    # The caller's own, without it
    project: str


class Error(TypedDict):
    """Why a request was not served, or a call did not end well."""

    code: ErrorCode
    # For people; names the next step. Not stable
    message: str
    # The kind of trouble, for programs that group errors
    type: Literal[
        "authentication",
        "permission",
        "not_found",
        "invalid_request",
        "limit",
        "conflict",
        "tool",
        "routing",
        "runtime",
        "cancelled",
    ]
    # True where the same request may be sent again: it is safe, and it can help
    retryable: bool
    # Facts by code, such as the fields at fault
    details: Dict[str, Any]
    # Names the request; as in X-Request-Id
    request_id: str


class _ErrorAnswerRequired(TypedDict):
    error: Error


class ErrorAnswer(_ErrorAnswerRequired, total=False):
    """What every answer holds that is an error."""

    # Set where the refused request left a record
    execution_id: str


class ExecutionApproved(TypedDict):
    """Who let it go on; by nobody, where a timeout did."""

    by: List[str]
    at: str


class _ExecutionRequired(TypedDict):
    execution_id: str
    tool: str
    # The exact version that runs
    version: str
    # `indeterminate`: it may have happened, and waits for a person's word
    status: CallState
    project: str
    # Who made the call
    principal: str
    side_effect_class: SideEffectClass
    idempotency_key: Optional[str]
    created_at: str
    # When it ended
    settled_at: Optional[str]
    cancel_requested_at: Optional[str]
    # The last question that people were asked about it
    approval_id: Optional[str]
    # SHA-256 of the canonical arguments
    input_hash: str
    # SHA-256 of the canonical result
    output_hash: Optional[str]
    # The request that made it
    request_id: str
    execution: ExecutionBlock
    # What the rules decided
    policy: Decision


class Execution(_ExecutionRequired, total=False):
    """A call's record."""

    error: CallError
    # The result, of a call that succeeded; numbers keep their digits
    output: Any
    # Who let it go on; by nobody, where a timeout did
    approved: ExecutionApproved
    edited: EditedArguments


class ExecutionBlockLimits(TypedDict):
    # Time to run
    timeout_ms: int
    # Size of the result
    max_output_bytes: int


class _ExecutionBlockRequired(TypedDict):
    # The backend of its box; `application` for a worker of an application; null: none of ours
    sandbox: Optional[str]
    # Id of the worker of the last attempt
    worker: Optional[str]
    # Attempts so far; 0: none began
    attempt: int
    # Whether the box, or the application, stood ready; null: not known
    warm: Optional[bool]
    # From admission to a slot
    queued_ms: Optional[float]
    # From the slot to running code
    start_ms: Optional[float]
    # Running code
    duration_ms: Optional[float]
    resources: Resources
    # Outputs of which only the beginning was passed on
    truncated: Dict[str, Literal[True]]
    # Whether an earlier result answered it; null: its tool or its rules keep it out of the cache
    cache: Optional[Literal["hit", "miss"]]
    # The call whose result this is; null: it ran itself
    cached_from: Optional[str]
    # Names the decision in the audit
    decision_id: str
    limits: ExecutionBlockLimits


class ExecutionBlock(_ExecutionBlockRequired, total=False):
    """Where and how long a call ran; times in ms."""

    # Text in the result was no Unicode and was replaced by U+FFFD
    ill_formed_text_replaced: Literal[True]
    # Why nobody did it, or nobody knows
    routing_outcome: Literal["no_handler", "capacity_exhausted", "lease_expired", "indeterminate"]


class ExecutionDetailApproved(TypedDict):
    """Who let it go on; by nobody, where a timeout did."""

    by: List[str]
    at: str


class ExecutionDetailDecision(TypedDict):
    """The decision under its id in the audit."""

    reason: str
    rules: List[MatchedRule]
    id: str
    outcome: Literal["allow", "deny", "require_approval"]


class _ExecutionDetailRequired(TypedDict):
    execution_id: str
    tool: str
    # The exact version that runs
    version: str
    # `indeterminate`: it may have happened, and waits for a person's word
    status: CallState
    project: str
    # Who made the call
    principal: str
    side_effect_class: SideEffectClass
    idempotency_key: Optional[str]
    created_at: str
    # When it ended
    settled_at: Optional[str]
    cancel_requested_at: Optional[str]
    # The last question that people were asked about it
    approval_id: Optional[str]
    # SHA-256 of the canonical arguments
    input_hash: str
    # SHA-256 of the canonical result
    output_hash: Optional[str]
    # The request that made it
    request_id: str
    execution: ExecutionBlock
    # What the rules decided
    policy: Decision
    # The decision under its id in the audit
    decision: ExecutionDetailDecision
    attempts: List[Attempt]
    late_results: List[LateResult]


class ExecutionDetail(_ExecutionDetailRequired, total=False):
    """A call's record with its attempts and late results."""

    error: CallError
    # The result, of a call that succeeded; numbers keep their digits
    output: Any
    # Who let it go on; by nobody, where a timeout did
    approved: ExecutionDetailApproved
    edited: EditedArguments


class ExecutionEvent(TypedDict):
    """One change of a call."""

    # From 1 without holes
    seq: int
    ts: str
    type: Literal[
        "requested",
        "denied",
        "approval_requested",
        "approved",
        "queued",
        "dispatched",
        "started",
        "progress",
        "retried",
        "succeeded",
        "failed",
        "timed_out",
        "cancelled",
        "cancel_requested",
        "indeterminate",
        "resolved",
        "late_result",
    ]
    # Hashes, sizes and names; never inputs or outputs
    data: Dict[str, Any]


class ExecutionEventPage(TypedDict):
    """Changes of a call, oldest first."""

    items: List[ExecutionEvent]
    # `after_seq` for the next page; null on the last one
    next_after_seq: Optional[int]


class ExecutionPage(TypedDict):
    """One page of a list."""

    items: List[Execution]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class ExecutorWorker(TypedDict):
    type: Literal["worker"]


class _ExecutorSandboxRequired(TypedDict):
    type: Literal["sandbox"]
    runtime: Literal["js", "node", "python", "wasm", "exec"]
    entry: str


class ExecutorSandbox(_ExecutorSandboxRequired, total=False):
    image: str
    # Rank of the weakest backend that will do
    min: int
    # Where the result comes from; `fd3` without it
    result: Literal["fd3", "stdout"]


class ExecutorMcp(TypedDict):
    type: Literal["mcp"]
    server: str
    tool: str


class ExecutorAgent(TypedDict):
    type: Literal["agent"]
    agent: str


class ExplainedRule(TypedDict):
    """What one rule has to say, and why."""

    policy: str
    version: str
    tenant: str
    level: Literal["platform", "tenant", "project", "attached"]
    mode: Literal["enforce", "observe"]
    # `waiting`: it reads arguments or counts that were not given
    verdict: Literal["matched", "not_matched", "failed", "waiting"]
    outcome: Literal["allow", "deny", "require_approval"]
    reason: str
    when: Optional[str]
    # The parts of the condition that decided, with the values they had
    because: List[str]


class FailedCallAnswer(TypedDict):
    """The end of a call that somebody waited for, where it is an error."""

    error: Error
    execution_id: str
    # The state in which the call ended or stopped
    status: CallState
    execution: ExecutionBlock


class Freeze(TypedDict):
    """Dispatch that is stopped."""

    # `platform`: of every tenant
    tenant: str
    # Empty: all tools
    tool: str
    reason: str
    at: str
    by: str


class FreezePage(TypedDict):
    """One page of a list."""

    items: List[Freeze]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class Grant(TypedDict):
    """Permissions and roles given to a principal."""

    grant_id: str
    # The principal it is given to
    subject: str
    # Empty: every project
    project: str
    permissions: List[str]
    roles: List[str]
    created_at: str
    created_by: str
    expires_at: Optional[str]
    revoked_at: Optional[str]


class GrantPage(TypedDict):
    """One page of a list."""

    items: List[Grant]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class Health(TypedDict):
    """It answers."""

    status: Literal["ok"]


class HistoryItemUser(TypedDict):
    """What was said to it."""

    by: str
    # Its place among all that was asked of the session, from 1
    message_seq: int
    text: str


class HistoryItemAssistantCallsItem(TypedDict):
    provider_id: str
    name: str
    # As the model wrote them; may be cut off
    arguments: str


class HistoryItemAssistant(TypedDict):
    """What the model said."""

    text: str
    # Empty where its provider shows none
    thought: str
    calls: List[HistoryItemAssistantCallsItem]
    # Why it stopped
    stop: str
    input_tokens: int
    output_tokens: int


class HistoryItemResultsResultsItem(TypedDict):
    index: int
    execution_id: str
    name: str
    # `row`: how the call ended; `synthetic`: the runtime, after a cancel; `refused`: it was never made
    told: Literal["row", "synthetic", "refused"]
    status: Literal["succeeded", "failed", "denied", "timed_out", "cancelled", "indeterminate"]
    text: str
    is_error: bool
    error_code: Optional[str]
    # The person whose arguments ran in place of the model's
    edited_by: Optional[str]
    duration_ms: float


class HistoryItemResults(TypedDict):
    """What the model was told of its calls."""

    # In the order of the calls
    results: List[HistoryItemResultsResultsItem]
    # Indexes in the order in which the calls ended
    settled: List[int]


class _HistoryItemRequired(TypedDict):
    # Which of the fields of these names is there
    type: Literal["user", "assistant", "results"]
    turn: int
    # 0 for `user`
    step: int


class HistoryItem(_HistoryItemRequired, total=False):
    """One item of a session's conversation."""

    # What was said to it
    user: HistoryItemUser
    # What the model said
    assistant: HistoryItemAssistant
    # What the model was told of its calls
    results: HistoryItemResults


class _InvokeRequestRequired(TypedDict):
    # The tool's name
    tool: str
    # The arguments: any JSON that the tool's input schema takes, at most 1048576 bytes; numbers keep their
    # digits
    input: Any


class InvokeRequest(_InvokeRequestRequired, total=False):
    """One call of one tool."""

    # An exact version or a range; else the tenant's pin, the active version, or the newest stable one
    version: str
    # If given, it must be the credential's own
    tenant: str
    # If given, it must be the credential's own, or one that it may use
    project: str
    # Input files of a sandbox tool, mounted read-only below `/workspace`
    files: List[CallFile]
    # What rules and people may know of the call's surroundings (workflow_id, agent, correlation_id …); at
    # most 16384 bytes of JSON
    context: Dict[str, Any]
    limits: CallLimits
    # `sync` (without it): the answer waits for the end; `async`: it comes as soon as the call is stored
    mode: Literal["sync", "async"]
    # The answer is the call's stream of events; not with mode `async`
    stream: bool
    # How long a sync answer may wait, in ms; then it is 202
    wait_ms: int
    # Time in all, in ms from admission: waiting for people, in the queue, all attempts
    deadline_ms: int
    # The call is cancelled when the caller's connection closes before the answer
    cancel_on_disconnect: bool
    # `normal` without it
    priority: Literal["interactive", "normal", "batch"]
    # Names this call for good: the same key again runs nothing. In the header Idempotency-Key just as well
    idempotency_key: str


class Key(TypedDict):
    """A key, without its secret."""

    key_id: str
    label: str
    principal: str
    project: str
    scopes: List[Scope]
    roles: List[str]
    created_at: str
    expires_at: Optional[str]
    revoked_at: Optional[str]
    # Exact to a minute; null: never
    last_used_at: Optional[str]


class KeyPage(TypedDict):
    """One page of a list."""

    items: List[Key]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class LastOutputLinesItem(TypedDict):
    channel: Literal["stdout", "stderr", "partial", "log", "progress"]
    text: str


class LastOutput(TypedDict):
    """What a call said last: at most 10 lines and 2048 bytes of text. No line and nothing missing: it said
    nothing that was kept."""

    # Of the last attempt, oldest first
    lines: List[LastOutputLinesItem]
    # More was said before: follow the call
    cut: bool
    # `lost`: something among it or behind it is not kept. `elsewhere`: another replica may not have written
    # the rest yet; ask again
    missing: Optional[Literal["lost", "elsewhere"]]


class LateResult(TypedDict):
    """A result that came when its lease was lost; kept as evidence."""

    # Number of the lease that was lost
    fence: int
    at: str
    worker: str
    status: Literal["succeeded", "failed", "cancelled"]
    output: Any
    error: Any


class LiftRequest(TypedDict, total=False):
    """What is to go on."""

    # One tool; all of them, without it
    tool: str
    # For operators: one tenant; all of them, without it
    tenant: str


class LiftedFreeze(TypedDict):
    """What lifting came to."""

    tool: str
    # False: there was nothing to lift
    lifted: bool


class LimitRate(TypedDict):
    per_minute: int
    burst: int


class LimitQuotas(TypedDict, total=False):
    """What is not in it is not limited here."""

    executions_per_day: int
    cpu_seconds_per_day: int
    egress_bytes_per_day: int
    concurrent_executions: int
    queue_depth: int


class Limit(TypedDict):
    """How much may be asked, and by whom."""

    # Whose calls; `platform`: of every tenant
    tenant: str
    # Both hold, side by side
    set_by: Literal["operator", "tenant"]
    scope: Literal["platform", "tenant", "project", "principal", "agent", "tool"]
    # Empty: of the scopes platform and tenant
    subject: str
    rate: Optional[LimitRate]
    # What is not in it is not limited here
    quotas: LimitQuotas
    time_zone: Optional[str]
    changed_at: str
    changed_by: str


class LimitPage(TypedDict):
    """One page of a list."""

    items: List[Limit]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class MadeKey(TypedDict):
    """A new key with its secret."""

    key_id: str
    label: str
    principal: str
    project: str
    scopes: List[Scope]
    roles: List[str]
    created_at: str
    expires_at: Optional[str]
    revoked_at: Optional[str]
    # Exact to a minute; null: never
    last_used_at: Optional[str]
    # What goes behind `Bearer`; shown this once
    secret: str


class MadeTenant(TypedDict):
    """A new tenant with its first key."""

    tenant: str
    # Its share of what all tenants wait for
    weight: float
    # Its keys are refused, and nothing of it is started
    suspended: bool
    suspended_at: Optional[str]
    suspended_by: Optional[str]
    suspended_reason: Optional[str]
    created_at: str
    # May do everything in it
    admin_key: MadeKey


class MadeWebhook(TypedDict):
    """A new webhook with its secret."""

    webhook_id: str
    url: str
    # Types of notices that it wants; empty: all
    types: List[str]
    created_at: str
    created_by: str
    # Signs what is posted; shown this once
    secret: str


class MatchedRule(TypedDict):
    """A rule that matched a call."""

    policy: str
    version: str
    level: str
    outcome: Literal["allow", "deny", "require_approval"]
    reason: str
    # A rule in observe mode: recorded, and changes nothing
    observed: bool


class NewFreeze(TypedDict, total=False):
    """What is to be stopped."""

    # One tool; all of them, without it
    tool: str
    # For operators: one tenant; all of them, without it
    tenant: str
    # For people and the audit
    reason: str


class _NewGrantRequired(TypedDict):
    # `user:<name>`, `service:<name>` or `agent:<name>`
    subject: str
    # `domain:action:resource`, such as `tool:invoke:payments.*`
    permissions: List[str]


class NewGrant(_NewGrantRequired, total=False):
    """A grant to be made."""

    # Every project of the tenant, without it
    project: str
    # Roles in which the principal decides approvals
    roles: List[str]
    # Never, without it
    expires_at: str


class _NewKeyRequired(TypedDict):
    # For people
    label: str
    # `user:<name>`, `service:<name>` or `agent:<name>`
    principal: str
    # What it may ask of the API; `*` stands for all
    scopes: List[Scope]


class NewKey(_NewKeyRequired, total=False):
    """A key to be made."""

    # Where its calls belong; the caller's own without it
    project: str
    # Roles in which its principal decides approvals
    roles: List[str]
    # Never, without it
    expires_at: str


class NewLimitRate(TypedDict):
    """A bucket of calls."""

    # Calls a minute, in the long run
    per_minute: int
    # Calls at once
    burst: int


class NewLimitQuotas(TypedDict, total=False):
    """Of a tenant or a project."""

    # Calls that are admitted on one day
    executions_per_day: int
    # CPU time of a day's calls, told when they end
    cpu_seconds_per_day: int
    # Bytes that a day's calls send out of boxes
    egress_bytes_per_day: int
    # Calls that work at once; the others wait
    concurrent_executions: int
    # Calls that wait for a worker
    queue_depth: int


class _NewLimitRequired(TypedDict):
    # How wide it reaches
    scope: Literal["platform", "tenant", "project", "principal", "agent", "tool"]


class NewLimit(_NewLimitRequired, total=False):
    """The whole of a limit: what is left out does not hold."""

    # Which project, principal, agent or tool; `*`: each that has no limit of its own
    subject: str
    # A bucket of calls
    rate: NewLimitRate
    # Of a tenant or a project
    quotas: NewLimitQuotas
    # Where the tenant's day begins, such as `Europe/Paris`; UTC where nobody says
    time_zone: str


class NewTenantAdmin(TypedDict, total=False):
    """Whose its first key is."""

    # `user:admin` without it
    principal: str
    # For people
    label: str


class _NewTenantRequired(TypedDict):
    # Letters, digits and _ . - between them
    tenant: str


class NewTenant(_NewTenantRequired, total=False):
    """A tenant to be made."""

    # Its share of what all tenants wait for; 1 without it
    weight: int
    # Whose its first key is
    admin: NewTenantAdmin


class _NewVoteRequired(TypedDict):
    # The person's answer
    decision: Literal["approve", "reject"]
    # `args_hash` of the approval whose arguments the voter saw
    args_hash: str


class NewVote(_NewVoteRequired, total=False):
    """One person's answer to one approval."""

    # For the requester and the audit
    comment: str
    # With `approve`: other arguments, which void all earlier votes
    args: Any
    # `true` where the approval has `comprehension`: the voter understands what it allows
    comprehended: bool


class _NewWebhookRequired(TypedDict):
    # Where notices are posted; an absolute http or https URL
    url: str


class NewWebhook(_NewWebhookRequired, total=False):
    """Who is to be told of approvals."""

    # Types of notices, such as `approval.requested`; all of them, without it
    types: List[str]


class Nothing(TypedDict):
    """An empty object; or no body at all."""


class ObligationsLimits(TypedDict, total=False):
    """Bounds by name; the unit is in the name."""

    timeout_ms: float
    cpu: float
    cpu_seconds: float
    memory_bytes: float
    disk_bytes: float
    pids: float
    fds: float
    output_bytes: float
    egress_bytes: float


class ObligationsPaths(TypedDict, total=False):
    read: List[str]
    write: List[str]


class _ObligationsRequired(TypedDict):
    # Bounds by name; the unit is in the name
    limits: ObligationsLimits


class Obligations(_ObligationsRequired, total=False):
    """What a call that may run must keep to; an absent part demands nothing."""

    # The weakest backend that will do
    sandbox: Literal["native", "container", "gvisor", "wasm", "microvm"]
    # `host:port` patterns; an empty list leaves nothing
    egress: List[str]
    paths: ObligationsPaths


class PackageFile(TypedDict):
    """One file of a package."""

    # Relative, with `/` between its parts
    path: str
    # `0755`: it may be executed
    mode: Literal["0644", "0755"]
    # Digest of a stored file
    ref: str


class PackageRequest(TypedDict):
    """A folder of code, by the digests of its files."""

    # All of its files
    files: List[PackageFile]


class PinRequest(TypedDict):
    """What callers get that name no version."""

    # An exact version or a range
    version: str


class PolicyMatch(TypedDict):
    """Whom it concerns; an empty list: anybody or anything."""

    tools: List[str]
    agents: List[str]
    principals: List[str]
    environments: List[str]
    triggers: List[PolicyTrigger]


class Policy(TypedDict):
    """A published version of a policy."""

    name: str
    version: str
    level: Literal["platform", "tenant", "project", "attached"]
    # Empty, but for level `project`
    project: str
    mode: Literal["enforce", "observe"]
    status: Literal["active", "superseded", "withdrawn"]
    # SHA-256 of the canonical document
    digest: str
    # Whom it concerns; an empty list: anybody or anything
    match: PolicyMatch
    # The condition, in CEL; null: always
    when: Optional[str]
    # What an absent field comes to; null: the condition reads none that may be absent
    missing: Optional[Literal["match", "skip", "deny"]]
    decision: Literal["allow", "deny", "require_approval"]
    reason: str
    approval: Optional[ApprovalDemand]
    obligations: Obligations
    published_at: str
    published_by: str
    # Whose it is: the tenant's, or `platform`
    tenant: str


class PolicyDefault(TypedDict):
    """What a level says where none of its rules matches."""

    tenant: str
    # Empty: the tenant's own level
    project: str
    # Null: nothing is set, which is `allow`
    decision: Optional[Literal["allow", "deny"]]
    changed_at: str
    changed_by: str


class PolicyDefaultPage(TypedDict):
    """One page of a list."""

    items: List[PolicyDefault]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class _PolicyDefaultRequestRequired(TypedDict):
    # Null takes the default away
    decision: Optional[Literal["allow", "deny"]]


class PolicyDefaultRequest(_PolicyDefaultRequestRequired, total=False):
    """What a level is to say where none of its rules matches."""

    # The tenant's own level, without it
    project: str


class PolicyDetailMatch(TypedDict):
    """Whom it concerns; an empty list: anybody or anything."""

    tools: List[str]
    agents: List[str]
    principals: List[str]
    environments: List[str]
    triggers: List[PolicyTrigger]


class PolicyDetail(TypedDict):
    """A version of a policy with its document."""

    name: str
    version: str
    level: Literal["platform", "tenant", "project", "attached"]
    # Empty, but for level `project`
    project: str
    mode: Literal["enforce", "observe"]
    status: Literal["active", "superseded", "withdrawn"]
    # SHA-256 of the canonical document
    digest: str
    # Whom it concerns; an empty list: anybody or anything
    match: PolicyDetailMatch
    # The condition, in CEL; null: always
    when: Optional[str]
    # What an absent field comes to; null: the condition reads none that may be absent
    missing: Optional[Literal["match", "skip", "deny"]]
    decision: Literal["allow", "deny", "require_approval"]
    reason: str
    approval: Optional[ApprovalDemand]
    obligations: Obligations
    published_at: str
    published_by: str
    # Whose it is: the tenant's, or `platform`
    tenant: str
    # All versions of this name
    versions: List[str]
    # As it was published
    document: Dict[str, Any]


class PolicyExplanation(TypedDict):
    """What would be decided about a call, and why."""

    # Null, as all that a decision brings: no rule has a say on the trigger
    decision: Optional[Literal["allow", "deny", "require_approval"]]
    reason: Optional[str]
    # The error's code, of a denial
    code: Optional[str]
    deciding: Optional[Dict[str, Any]]
    rules: List[ExplainedRule]
    approval: Optional[ApprovalRequirements]
    obligations: Optional[Obligations]
    # The same for a terminal
    lines: List[str]
    # Permissions that the principal lacks: the call is denied before any rule is heard
    missing_permissions: List[str]
    # Why the input does not match the tool's schema; null: it does, or none was given
    input_errors: Optional[List[Any]]


class PolicyPage(TypedDict):
    """One page of a list."""

    items: List[Policy]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class _PolicyQuestionRequired(TypedDict):
    # The tool's name
    tool: str


class PolicyQuestion(_PolicyQuestionRequired, total=False):
    """A call that nobody makes; what is left out is the caller's own."""

    # An exact version or a range
    version: str
    # The caller's own, without it
    project: str
    # Without it rules that read arguments stay unheard
    input: Any
    # What rules and people may know of the call's surroundings (workflow_id, agent, correlation_id …); at
    # most 16384 bytes of JSON
    context: Dict[str, Any]
    # Somebody else than the caller; needs the scope policies:write
    principal: str
    # Roles of that principal
    roles: List[str]
    # Empty: no agent
    agent: str
    # Empty: a project without one
    environment: str
    # Rules for this trouble, in place of those before a call
    trigger: PolicyTrigger
    counts: CallCounts
    # For rules that read the clock
    now: str


class _PolicyTestRequired(TypedDict):
    # A document of cases: `{cases: [{name, call, expect}]}`
    cases: Any


class PolicyTest(_PolicyTestRequired, total=False):
    """Cases, and the policies that are to be tried on them."""

    # Policy documents that are tried as if they were published
    policies: List[Any]


class PolicyTestResultItemsItem(TypedDict):
    name: str
    passed: bool
    # What is not as expected
    failures: List[str]
    # Of a case that failed
    explanation: List[str]


class PolicyTestResult(TypedDict):
    """What came of a file of cases."""

    passed: int
    failed: int
    items: List[PolicyTestResultItemsItem]


class PolicyVersionRequest(TypedDict):
    """The version that it is about."""

    # An exact version
    version: str


class Project(TypedDict):
    """A part of a tenant."""

    project: str
    # Empty: none
    environment: str
    created_at: str


class ProjectPage(TypedDict):
    """One page of a list."""

    items: List[Project]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class ProjectRequest(TypedDict):
    """What a project is to be."""

    # A label that policies can match, such as `production`
    environment: str


class ProjectTool(TypedDict):
    """Whether a project may use a tool."""

    project: str
    tool: str
    enabled: bool
    changed_at: str
    changed_by: str


class ProjectToolPage(TypedDict):
    """One page of a list."""

    items: List[ProjectTool]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class _PublishedAgentWarningsItemRequired(TypedDict):
    path: str
    message: str


class PublishedAgentWarningsItem(_PublishedAgentWarningsItemRequired, total=False):
    hint: str


class PublishedAgent(TypedDict):
    """What publishing came to."""

    agent: str
    version: str
    # Stands in the ids of its calls
    version_id: str
    owner: str
    description: str
    labels: Dict[str, str]
    # `deprecated`: starts no sessions; `retired`: the same, for good
    status: Literal["published", "deprecated", "retired"]
    # Whether it is what new sessions run that name no version
    deployed: bool
    # SHA-256 of the canonical manifest
    manifest_digest: str
    # Agents that its tools run, each with the version that was deployed when this was published
    children: Dict[str, str]
    published_at: str
    published_by: str
    spec: AgentSpec
    # The same manifest was published before; nothing has changed
    already_there: bool
    dry_run: bool
    warnings: List[PublishedAgentWarningsItem]


class PublishedPolicyMatch(TypedDict):
    """Whom it concerns; an empty list: anybody or anything."""

    tools: List[str]
    agents: List[str]
    principals: List[str]
    environments: List[str]
    triggers: List[PolicyTrigger]


class _PublishedPolicyWarningsItemRequired(TypedDict):
    path: str
    message: str


class PublishedPolicyWarningsItem(_PublishedPolicyWarningsItemRequired, total=False):
    hint: str


class PublishedPolicy(TypedDict):
    """What publishing came to."""

    name: str
    version: str
    level: Literal["platform", "tenant", "project", "attached"]
    # Empty, but for level `project`
    project: str
    mode: Literal["enforce", "observe"]
    status: Literal["active", "superseded", "withdrawn"]
    # SHA-256 of the canonical document
    digest: str
    # Whom it concerns; an empty list: anybody or anything
    match: PublishedPolicyMatch
    # The condition, in CEL; null: always
    when: Optional[str]
    # What an absent field comes to; null: the condition reads none that may be absent
    missing: Optional[Literal["match", "skip", "deny"]]
    decision: Literal["allow", "deny", "require_approval"]
    reason: str
    approval: Optional[ApprovalDemand]
    obligations: Obligations
    published_at: str
    published_by: str
    # Whose it is: the tenant's, or `platform`
    tenant: str
    # The same document was published before; nothing has changed
    already_there: bool
    dry_run: bool
    # Known tools that its patterns name
    tools_hit: List[str]
    warnings: List[PublishedPolicyWarningsItem]


class _QuarantineRequestRequired(TypedDict):
    # For people and the audit
    reason: str


class QuarantineRequest(_QuarantineRequestRequired, total=False):
    """What may not run any more."""

    # One version; all of them, without it
    version: str


class QuarantineResult(TypedDict):
    """What a quarantine, or its end, changed."""

    tool: str
    # The versions that changed
    versions: List[str]
    # Waiting calls that were denied
    denied: int


class Readiness(TypedDict):
    """Whether calls are taken."""

    ready: bool
    # Why it is not ready
    reasons: List[str]


class RegisteredTool(TypedDict):
    """What registering came to."""

    tool: str
    version: str
    owner: str
    description: str
    category: str
    labels: Dict[str, str]
    trust: Literal["first_party", "verified", "untrusted"]
    # `deprecated`: no range chooses it; `quarantined`: it does not run
    status: Literal["active", "deprecated", "quarantined"]
    # SHA-256 of the canonical manifest
    manifest_digest: str
    # Of the code that it runs; null: none
    package_digest: Optional[str]
    published_at: str
    published_by: str
    spec: ToolSpec
    active: bool
    # The same manifest was registered before; nothing has changed
    already_there: bool
    warnings: List[str]


class ReleaseRequest(TypedDict, total=False):
    """What may run again."""

    # One version; all of them, without it
    version: str
    # For people and the audit
    reason: str


class RemovedLimit(TypedDict):
    """What removing came to."""

    # False: there was none
    removed: bool


class RemovedWebhook(TypedDict):
    """A webhook that is gone."""

    webhook_id: str
    removed: Literal[True]


class ReplayRequest(TypedDict, total=False):
    """A call that has ended is made once more."""

    # True: that the call may have had its effect is known, and it is wanted again
    acknowledge_may_have_executed: bool
    # As for an invoke
    mode: Literal["sync", "async"]
    # As for an invoke
    wait_ms: int
    # Names the new call for good
    idempotency_key: str


class ResolveManyRequestFilter(TypedDict, total=False):
    """Which of the calls whose end nobody knows; every part that is given must hold."""

    # Calls of this tool
    tool: str
    # Calls of this project
    project: str
    # Calls that were lost in this way
    routing_outcome: Literal["lease_expired", "indeterminate"]
    # Calls that this worker had last
    worker: str
    # Calls that were made at least so long ago, in ms
    older_than_ms: int


class _ResolveManyRequestRequired(TypedDict):
    # Which of the calls whose end nobody knows; every part that is given must hold
    filter: ResolveManyRequestFilter
    # `confirm` takes each call's own late result; a call without one stays as it is
    verdict: Literal["confirm", "retry", "fail"]


class ResolveManyRequest(_ResolveManyRequestRequired, total=False):
    """A person's word on many calls whose end nobody knows."""

    # For the audit of each call
    comment: str
    # True: nothing is resolved; how many match is counted, and what is known of them shown
    dry_run: bool
    # At most so many; 500 without it
    limit: int


class _ResolveRequestRequired(TypedDict):
    # `confirm`: it happened; `retry`: it did not, run it again; `fail`: give it up
    verdict: Literal["confirm", "retry", "fail"]


class ResolveRequest(_ResolveRequestRequired, total=False):
    """A person's word on a call whose end nobody knows."""

    # With `confirm`: the result; without it the late result, if one came
    output: Any
    # For the audit
    comment: str


class ResolvedManyResolvedItem(TypedDict):
    execution_id: str
    status: CallState


class ResolvedManyFailedItem(TypedDict):
    execution_id: str
    code: str
    message: str


class ResolvedMany(TypedDict):
    """What a word on many calls came to."""

    dry_run: bool
    matched: int
    # Of a dry run: the first of them
    shown: List[UnknownEnd]
    resolved: List[ResolvedManyResolvedItem]
    failed: List[ResolvedManyFailedItem]
    # That match and were left: send the same again
    remaining: int
    # There may be others that were not looked at
    more: bool


class Resources(TypedDict):
    """What a call used; null: not measured."""

    cpu_ms: Optional[float]
    peak_memory_bytes: Optional[int]
    egress_bytes: Optional[int]


class RollBackAgentRequest(TypedDict, total=False):
    """Where to go back to."""

    # The version that was deployed before, without it
    version: str
    # Kept with the change and in the audit
    comment: str


class RollbackRequest(TypedDict, total=False):
    """Where to go back to."""

    # The version to go back to; the one active before, without it
    version: str


_RolledBackAgentFields = TypedDict(
    "_RolledBackAgentFields",
    {
        "agent": "str",
        "deployed_version": "Optional[str]",
        "latest_version": "str",
        "description": "str",
        "owner": "str",
        "created_at": "str",
        "archived_at": "Optional[str]",
        "from": "str",
    },
    total=True,
)


class RolledBackAgent(_RolledBackAgentFields):
    """An agent that is back at another version."""


_RolledBackToolFields = TypedDict(
    "_RolledBackToolFields",
    {
        "tool": "str",
        "active_version": "Optional[str]",
        "description": "str",
        "side_effect_class": "SideEffectClass",
        "executor": "Literal[\"worker\", \"sandbox\", \"mcp\", \"agent\"]",
        "owner": "str",
        "category": "str",
        "labels": "Dict[str, str]",
        "owned_by": "str",
        "created_at": "str",
        "from": "str",
    },
    total=True,
)


class RolledBackTool(_RolledBackToolFields):
    """A tool that is back at another version."""


class RuntimeStatusCalls(TypedDict, total=False):
    """Open calls by state."""

    awaiting_approval: int
    queued: int
    dispatched: int
    running: int
    indeterminate: int
    denied: int
    succeeded: int
    failed: int
    timed_out: int
    cancelled: int


class RuntimeStatus(TypedDict):
    """The runtime's own state."""

    version: str
    replica: str
    started_at: str
    ready: bool
    draining: bool
    # Why it is not ready
    reasons: List[str]
    # Open calls by state
    calls: RuntimeStatusCalls
    workers: int


class _SendMessageRequestRequired(TypedDict):
    # What a person, or a program in its place, says; at most 262144 bytes of UTF-8
    text: str


class SendMessageRequest(_SendMessageRequestRequired, total=False):
    """A message to a session."""

    # Names this message for good, in its session. In the header Idempotency-Key just as well
    idempotency_key: str
    # How long the answer may wait for the turn's end, in ms; then it is 202
    wait_ms: int


class SentSession(TypedDict):
    """A session that was sent a message."""

    session_id: str
    agent: str
    # The version that it runs, whatever is deployed since
    version: str
    status: SessionState
    # Of the last turn's end, or the session's; null: none has ended
    reason: Optional[SessionReason]
    # The turn that runs, or ran last; 0: none began
    turn: int
    usage: SessionUsage
    # Who started it; its calls have this principal's rights at most
    principal: str
    project: str
    # 0: it is nobody's child
    depth: int
    parent_session_id: Optional[str]
    # The call that it is the child of
    parent_execution_id: Optional[str]
    # The number of its last event
    event_seq: int
    created_at: str
    updated_at: str
    ended_at: Optional[str]
    deadline_at: Optional[str]
    # What its caller gave beside the message; numbers keep their digits
    context: Dict[str, Any]
    # The text of the last completion of its last turn; null: there is none
    reply: Optional[str]
    waiting: SessionWaiting
    # The place of the message among all that was asked of the session, from 1
    message_seq: int


class Session(TypedDict):
    """A session: where it stands, and what it said last."""

    session_id: str
    agent: str
    # The version that it runs, whatever is deployed since
    version: str
    status: SessionState
    # Of the last turn's end, or the session's; null: none has ended
    reason: Optional[SessionReason]
    # The turn that runs, or ran last; 0: none began
    turn: int
    usage: SessionUsage
    # Who started it; its calls have this principal's rights at most
    principal: str
    project: str
    # 0: it is nobody's child
    depth: int
    parent_session_id: Optional[str]
    # The call that it is the child of
    parent_execution_id: Optional[str]
    # The number of its last event
    event_seq: int
    created_at: str
    updated_at: str
    ended_at: Optional[str]
    deadline_at: Optional[str]
    # What its caller gave beside the message; numbers keep their digits
    context: Dict[str, Any]
    # The text of the last completion of its last turn; null: there is none
    reply: Optional[str]
    waiting: SessionWaiting


class SessionApproval(TypedDict):
    """A question that was put to people about a call or a limit of a session."""

    approval_id: str
    kind: Literal["call", "resolve", "limit"]
    status: Literal["pending", "approved", "rejected", "expired", "cancelled", "escalated"]
    execution_id: Optional[str]
    tool: str
    reason: str
    outcome: Optional[str]
    closed_by: Optional[str]
    opened_at: str
    expires_at: str
    closed_at: Optional[str]


class SessionCall(TypedDict):
    """A call that a session made; its arguments and result stand in its own record."""

    execution_id: str
    turn: int
    step: int
    index: int
    tool: str
    version: str
    status: CallState
    error_code: Optional[str]
    approval_id: Optional[str]
    created_at: str
    dispatched_at: Optional[str]
    started_at: Optional[str]
    settled_at: Optional[str]
    # From admission to a slot
    queued_ms: Optional[float]
    # From the slot to running code
    start_ms: Optional[float]
    # Running code
    duration_ms: Optional[float]


class SessionDelta(TypedDict):
    """A piece of an answer on its way; it has no number and is not kept, for the whole answer comes as
    `assistant`"""

    turn: int
    step: int
    type: Literal["text", "thought", "tool_call"]
    text: str


class SessionEvent(TypedDict):
    """One thing that happened in a session."""

    # From 1 without holes
    seq: int
    ts: str
    # `session.started`, `turn.started`, `message`, `assistant`, `tool.started`, `tool.completed`,
    # `approval.requested`, `turn.ended`, `session.ended` …
    type: str
    turn: int
    step: int
    data: Dict[str, Any]


class SessionEventPage(TypedDict):
    """What happened in a session, oldest first."""

    items: List[SessionEvent]
    # `after_seq` for the next page; null on the last one
    next_after_seq: Optional[int]


class SessionGap(TypedDict):
    """So many pieces were dropped, for the reader was too slow; events never are."""

    dropped: int


class SessionLine(TypedDict):
    """One session in a list."""

    session_id: str
    agent: str
    # The version that it runs, whatever is deployed since
    version: str
    status: SessionState
    # Of the last turn's end, or the session's; null: none has ended
    reason: Optional[SessionReason]
    # The turn that runs, or ran last; 0: none began
    turn: int
    usage: SessionUsage
    # Who started it; its calls have this principal's rights at most
    principal: str
    project: str
    # 0: it is nobody's child
    depth: int
    parent_session_id: Optional[str]
    # The call that it is the child of
    parent_execution_id: Optional[str]
    # The number of its last event
    event_seq: int
    created_at: str
    updated_at: str
    ended_at: Optional[str]
    deadline_at: Optional[str]


class SessionPage(TypedDict):
    """One page of a list."""

    items: List[SessionLine]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class SessionReason(TypedDict):
    """Why a session waits, or ended."""

    # `end_turn`, `limit_steps`, `model_failed`, `cancelled` …
    code: str
    message: str


class SessionTimeline(TypedDict):
    """Everything that a session and its children did."""

    session: SessionLine
    history: List[HistoryItem]
    # By turn, step and index
    calls: List[SessionCall]
    approvals: List[SessionApproval]
    events: List[SessionEvent]
    # There is more of it than is shown
    cut: bool
    # The sessions that its calls ran, and theirs: each stands before its own children
    children: List[ChildTimeline]


class SessionUsage(TypedDict):
    """What a session has used so far, that of its children included."""

    input_tokens: int
    output_tokens: int
    model_calls: int
    tool_calls: int


class SessionWaiting(TypedDict):
    """What a session has before it."""

    # Messages, cancels and completions that it has not taken yet
    messages: int
    # Questions to people that are open
    approval_ids: List[str]


class _StartSessionRequestRequired(TypedDict):
    # The agent's name
    agent: str


class StartSessionRequest(_StartSessionRequestRequired, total=False):
    """A session to start."""

    # An exact version; else the one that is deployed
    version: str
    # If given, it must be the credential's own, or one that it may use
    project: str
    # The first message; without it the session waits for one
    message: str
    # What is kept with the session and told to its policies; at most 15360 bytes of JSON
    context: Dict[str, Any]
    # Of the whole session, in ms; no call of it outlives this
    deadline_ms: int
    # Names this session for good: the same key again starts nothing. In the header Idempotency-Key just as
    # well
    idempotency_key: str
    # How long the answer may wait for the turn's end, in ms; then it is 202
    wait_ms: int


class StoredFile(TypedDict):
    """Content that is stored under its digest."""

    # What a call, or a package, names it by
    digest: str
    bytes: int


class StoredPackage(TypedDict):
    """A folder of code that is stored under its digest."""

    # What a tool version names it by
    digest: str
    # All files together
    bytes: int
    already_there: bool


class StreamApprovalData(TypedDict):
    approval_id: str
    status: str


class StreamApproval(TypedDict):
    """People are asked."""

    # The event's id
    seq: int
    ts: str
    data: StreamApprovalData


class StreamDone(TypedDict):
    """The end, and the last event: the call succeeded."""

    # The event's id
    seq: int
    ts: str
    data: Execution


class _StreamEmitDataRequired(TypedDict):
    type: str


class StreamEmitData(_StreamEmitDataRequired, total=False):
    payload: Any
    # The payload was no JSON
    malformed: Literal[True]


class StreamEmit(TypedDict):
    """An event of the tool's own."""

    # The event's id
    seq: int
    ts: str
    data: StreamEmitData


class StreamError(TypedDict):
    """The end, and the last event: the record says how."""

    # The event's id
    seq: int
    ts: str
    data: Execution


_StreamGapFields = TypedDict(
    "_StreamGapFields",
    {
        "from": "int",
        "to": "int",
    },
    total=True,
)


class StreamGap(_StreamGapFields):
    """Numbers that this reader does not get."""


class _StreamLogDataRequired(TypedDict):
    text: str


class StreamLogData(_StreamLogDataRequired, total=False):
    # Chunks before it that never came to the runtime
    missed_chunks: int


class StreamLog(TypedDict):
    """A line of the tool's log."""

    # The event's id
    seq: int
    ts: str
    data: StreamLogData


class _StreamPartialDataRequired(TypedDict):
    text: str


class StreamPartialData(_StreamPartialDataRequired, total=False):
    # Chunks before it that never came to the runtime
    missed_chunks: int


class StreamPartial(TypedDict):
    """A part of the result, ahead of it."""

    # The event's id
    seq: int
    ts: str
    data: StreamPartialData


class StreamProgressData(TypedDict):
    percent: float
    message: str


class StreamProgress(TypedDict):
    """How far the tool is."""

    # The event's id
    seq: int
    ts: str
    data: StreamProgressData


class StreamStartData(TypedDict):
    sandbox: Optional[str]
    worker: Optional[str]
    attempt: int


class StreamStart(TypedDict):
    """A worker has the call; again for every attempt."""

    # The event's id
    seq: int
    ts: str
    data: StreamStartData


class _StreamStderrDataRequired(TypedDict):
    text: str


class StreamStderrData(_StreamStderrDataRequired, total=False):
    # Chunks before it that never came to the runtime
    missed_chunks: int


class StreamStderr(TypedDict):
    """The tool wrote to its standard error."""

    # The event's id
    seq: int
    ts: str
    data: StreamStderrData


class _StreamStdoutDataRequired(TypedDict):
    text: str


class StreamStdoutData(_StreamStdoutDataRequired, total=False):
    # Chunks before it that never came to the runtime
    missed_chunks: int


class StreamStdout(TypedDict):
    """The tool wrote to its standard output."""

    # The event's id
    seq: int
    ts: str
    data: StreamStdoutData


class Tenant(TypedDict):
    """The boundary of isolation."""

    tenant: str
    # Its share of what all tenants wait for
    weight: float
    # Its keys are refused, and nothing of it is started
    suspended: bool
    suspended_at: Optional[str]
    suspended_by: Optional[str]
    suspended_reason: Optional[str]
    created_at: str


class TenantChange(TypedDict, total=False):
    """What is left out stays as it is."""

    # Its share of what all tenants wait for
    weight: int
    # `true` stops it, `false` lets it go on
    suspended: bool
    # Why it is suspended; with `suspended: true`
    reason: str


class TenantPage(TypedDict):
    """One page of a list."""

    items: List[Tenant]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class Tool(TypedDict):
    """A tool, as its active version tells it."""

    tool: str
    # What callers get that name none and have no pin; null: none is active
    active_version: Optional[str]
    description: str
    side_effect_class: SideEffectClass
    executor: Literal["worker", "sandbox", "mcp", "agent"]
    owner: str
    category: str
    labels: Dict[str, str]
    # The tenant, or `platform`
    owned_by: str
    created_at: str


__ToolBindingRequiredFields = TypedDict(
    "__ToolBindingRequiredFields",
    {
        "tool": "str",
        "version": "str",
        "as": "str",
        "scheduling": "Optional[str]",
        "side_effect_class": "Optional[SideEffectClass]",
        "policies": "List[str]",
    },
    total=True,
)


class _ToolBindingRequired(__ToolBindingRequiredFields):
    pass


class ToolBinding(_ToolBindingRequired, total=False):
    """A tool that an agent may call, tightened."""

    # JSON Schema that the input must match beside the tool's own
    input: Any


class ToolDetailBreaker(TypedDict):
    """Of the shown version, for the asking tenant, as this replica knows it."""

    # `open`: calls are refused; `half_open`: one call tries the tool
    state: Literal["closed", "open", "half_open"]
    # In a row
    failures: int
    # When it is tried again; null while it is closed
    open_until: Optional[str]


class ToolDetail(TypedDict):
    """A tool with one version whole."""

    tool: str
    # What callers get that name none and have no pin; null: none is active
    active_version: Optional[str]
    description: str
    side_effect_class: SideEffectClass
    executor: Literal["worker", "sandbox", "mcp", "agent"]
    owner: str
    category: str
    labels: Dict[str, str]
    # The tenant, or `platform`
    owned_by: str
    created_at: str
    # All versions
    versions: List[str]
    # Workers connected now that serve the shown version
    workers: int
    # Of the shown version, for the asking tenant, as this replica knows it
    breaker: ToolDetailBreaker
    # The shown version
    version: ToolVersion


class ToolPage(TypedDict):
    """One page of a list."""

    items: List[Tool]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class ToolPin(TypedDict):
    """What a tenant's callers get that name no version."""

    tool: str
    # An exact version or a range; null: the pin is gone
    version: Optional[str]
    changed_at: str
    changed_by: str


class ToolPinPage(TypedDict):
    """One page of a list."""

    items: List[ToolPin]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class ToolSpecRetry(TypedDict):
    attempts: int
    strategy: Literal["fixed", "linear", "exponential"]
    initial_ms: int
    max_ms: int
    # By which an exponential wait grows
    factor: int
    # Whether a timeout is worth another attempt
    timeouts: bool


class ToolSpecBreaker(TypedDict):
    """When calls of the tool are refused at once, because it is down; null: never."""

    # So many in a row open it
    failures: int
    # How long it stays open
    cool_down_ms: int


class ToolSpecFilesystem(TypedDict):
    read: List[str]
    write: List[str]


class ToolSpecPlacement(TypedDict):
    match: Dict[str, str]
    prefer: Dict[str, str]


class _ToolSpecRequired(TypedDict):
    executor: Executor
    # JSON Schema of the arguments
    input: Any
    side_effect_class: SideEffectClass
    scheduling: str
    # What a call needs
    permissions: List[str]
    timeout_ms: int
    grace_ms: int
    retry: ToolSpecRetry
    # When calls of the tool are refused at once, because it is down; null: never
    breaker: Optional[ToolSpecBreaker]
    pure: bool
    cache_ttl_ms: int
    on_indeterminate: Literal["ask", "fail"]
    limits: Dict[str, float]
    # Names
    secrets: List[str]
    # Names
    env: List[str]
    network_allow: List[str]
    filesystem: ToolSpecFilesystem
    events: List[str]
    # What a session puts into the context of its calls: `projection`
    context: List[str]
    default_policies: List[str]
    placement: ToolSpecPlacement


class ToolSpec(_ToolSpecRequired, total=False):
    """A manifest's `spec`, defaults filled in; times in ms, sizes in bytes."""

    # JSON Schema of the result; absent: anything
    output: Any


class ToolVersion(TypedDict):
    """One immutable published version."""

    tool: str
    version: str
    owner: str
    description: str
    category: str
    labels: Dict[str, str]
    trust: Literal["first_party", "verified", "untrusted"]
    # `deprecated`: no range chooses it; `quarantined`: it does not run
    status: Literal["active", "deprecated", "quarantined"]
    # SHA-256 of the canonical manifest
    manifest_digest: str
    # Of the code that it runs; null: none
    package_digest: Optional[str]
    published_at: str
    published_by: str
    spec: ToolSpec


class UnknownEnd(TypedDict):
    """What is known of a call whose end is not."""

    execution_id: str
    tool: str
    version: str
    project: str
    principal: str
    side_effect_class: SideEffectClass
    created_at: str
    # How it was lost
    routing_outcome: Optional[str]
    may_have_executed: bool
    attempts: List[Attempt]
    late_results: List[LateResult]
    last_output: LastOutput


class _UsageRequired(TypedDict):
    # Calls that were admitted on these days and have ended
    executions: int
    succeeded: int
    failed: int
    timed_out: int
    cancelled: int
    # Also those that were refused before their admission, which are no executions
    denied: int
    # Answered with the result of an earlier call
    cache_hits: int
    duration_ms: float
    cpu_ms: float
    # The largest of one call
    peak_memory_bytes: int
    egress_bytes: int
    input_bytes: int
    output_bytes: int


class Usage(_UsageRequired, total=False):
    """What calls used; it has the names by which it was grouped."""

    tenant: str
    project: str
    tool: str
    day: str


class UsagePage(TypedDict):
    """One page of usage."""

    items: List[Usage]
    # For the next page; null on the last one
    next_cursor: Optional[str]
    group_by: List[Literal["tenant", "project", "tool", "day"]]
    # In which the days are; null for all tenants, each of which has its own
    time_zone: Optional[str]


class Vote(TypedDict):
    """One person's answer."""

    voter: str
    decision: Literal["approve", "reject"]
    # The arguments that the vote is about
    args_hash: str
    comment: str
    # The voter brought other arguments
    edited: bool
    comprehended: bool
    at: str
    # It came after the close, and counts nowhere
    late: bool


class Webhook(TypedDict):
    """Who is told of approvals."""

    webhook_id: str
    url: str
    # Types of notices that it wants; empty: all
    types: List[str]
    created_at: str
    created_by: str


class WebhookPage(TypedDict):
    """One page of a list."""

    items: List[Webhook]
    # For the next page; null on the last one
    next_cursor: Optional[str]


class WorkerHandlersItem(TypedDict):
    tool: str
    version: str
    max_concurrency: int


class Worker(TypedDict):
    """A process that runs calls."""

    worker_id: str
    # One start of the process
    incarnation: str
    state: Literal["ready", "silent", "draining", "away"]
    # Calls at once
    capacity: int
    # Calls that it has now
    holding: int
    handlers: List[WorkerHandlersItem]
    # Kinds of boxes that it serves
    boxes: List[str]
    connected_at: str
    last_heard_at: str


class WorkerPage(TypedDict):
    """One page of a list."""

    items: List[Worker]
    # For the next page; null on the last one
    next_cursor: Optional[str]


# `awaiting_approval` and `indeterminate` wait for people; `denied`, `succeeded`, `failed`, `timed_out` and
# `cancelled` are ends.
CallState = Literal[
    "awaiting_approval",
    "queued",
    "dispatched",
    "running",
    "indeterminate",
    "denied",
    "succeeded",
    "failed",
    "timed_out",
    "cancelled",
]


# What went wrong; stable. Later versions may know more codes.
ErrorCode = Literal[
    "unauthenticated",
    "token_expired",
    "key_revoked",
    "forbidden",
    "policy_error",
    "integrity_violation",
    "approval_denied",
    "approval_expired",
    "tool_not_found",
    "execution_not_found",
    "key_not_found",
    "grant_not_found",
    "approval_not_found",
    "policy_not_found",
    "agent_not_found",
    "session_not_found",
    "tenant_not_found",
    "project_not_found",
    "webhook_not_found",
    "worker_not_found",
    "route_not_found",
    "invalid_input",
    "payload_too_large",
    "idempotency_conflict",
    "approval_closed",
    "conflict",
    "rate_limited",
    "quota_exceeded",
    "queue_full",
    "timeout",
    "resource_exceeded",
    "sandbox_unavailable",
    "no_handler",
    "capacity_exhausted",
    "breaker_open",
    "draining",
    "ledger_unavailable",
    "lease_expired",
    "indeterminate",
    "worker_rejected",
    "tool_error",
    "invalid_output",
    "cancelled",
    "internal",
]


# What runs the tool.
Executor = Union[ExecutorWorker, ExecutorSandbox, ExecutorMcp, ExecutorAgent]


# A document with `apiVersion`, `kind`, `metadata` and `spec`; checked by the registry, every problem named
# with its path.
Manifest = Dict[str, Any]


# What may go wrong with a call or a session after it was allowed.
PolicyTrigger = Literal[
    "dispatch.no_handler",
    "dispatch.capacity_exhausted",
    "dispatch.lease_expired",
    "dispatch.indeterminate",
    "limit.steps",
    "limit.tokens",
    "limit.wall_clock",
    "limit.tool_calls",
]


# What a key may ask of the API; `*` stands for all.
Scope = Literal[
    "tools:read",
    "tools:invoke",
    "tools:write",
    "calls:read",
    "calls:cancel",
    "policies:write",
    "approvals:decide",
    "sessions:read",
    "sessions:run",
    "workers:connect",
    "secrets:write",
    "usage:read",
    "audit:read",
    "admin",
    "*",
]


# `completed`, `failed` and `cancelled` are ends; `awaiting_approval` waits for people, `awaiting_input` for a
# message.
SessionState = Literal[
    "running",
    "awaiting_tool",
    "awaiting_approval",
    "awaiting_input",
    "completed",
    "failed",
    "cancelled",
]


# What a call does to the world; `read_only` and `idempotent_write` are run again where their end was lost,
# the others never.
SideEffectClass = Literal["read_only", "idempotent_write", "non_idempotent_write", "irreversible_action"]

"""One method for each operation of the API."""
# Made from docs/openapi.json by `npm run generate:python`; changes here are lost.

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, Union

from .models import (
    ActivationPage,
    Agent,
    AgentChangePage,
    AgentDetail,
    AgentDiff,
    AgentPage,
    AgentVersion,
    AgentVersionLine,
    AgentVersionPage,
    Approval,
    ApprovalDetail,
    ApprovalPage,
    AuditPage,
    AuditRecord,
    AuditVerdict,
    CallCounts,
    CallFile,
    CallLimits,
    CallState,
    Delivery,
    DeliveryPage,
    Execution,
    ExecutionDetail,
    ExecutionEvent,
    ExecutionEventPage,
    ExecutionPage,
    Freeze,
    FreezePage,
    Grant,
    GrantPage,
    Health,
    Key,
    KeyPage,
    LiftedFreeze,
    Limit,
    LimitPage,
    MadeKey,
    MadeTenant,
    MadeWebhook,
    NewLimitQuotas,
    NewLimitRate,
    NewTenantAdmin,
    PackageFile,
    Policy,
    PolicyDefault,
    PolicyDefaultPage,
    PolicyDetail,
    PolicyExplanation,
    PolicyPage,
    PolicyTestResult,
    PolicyTrigger,
    Project,
    ProjectPage,
    ProjectTool,
    ProjectToolPage,
    PublishedAgent,
    PublishedPolicy,
    QuarantineResult,
    Readiness,
    RegisteredTool,
    RemovedLimit,
    RemovedWebhook,
    ResolveManyRequestFilter,
    ResolvedMany,
    RolledBackAgent,
    RolledBackTool,
    RuntimeStatus,
    Scope,
    SentSession,
    Session,
    SessionEvent,
    SessionEventPage,
    SessionLine,
    SessionPage,
    SessionState,
    SessionTimeline,
    StoredFile,
    StoredPackage,
    Tenant,
    TenantPage,
    Tool,
    ToolDetail,
    ToolPage,
    ToolPin,
    ToolPinPage,
    ToolVersion,
    Usage,
    UsagePage,
    Webhook,
    WebhookPage,
    Worker,
    WorkerPage,
)
from .stream import StreamEvent
from .transport import (
    OMIT,
    Omitted,
    Request,
    Transport,
    document_body,
    given,
    in_path,
    json_bytes,
    new_key,
    present,
)

# The version of the runtime whose document this was made from.
API_VERSION = "0.1.0"


class Client(Transport):
    """The tool runtime for AI agents, as its REST API has it.

    Methods raise SignalboxError, and nothing else on purpose. A request that gets no answer is sent again
    where a second one has no second effect.
    """

    def invoke(
        self,
        *,
        tool: str,
        input: Any,
        version: Optional[str] = None,
        tenant: Optional[str] = None,
        project: Optional[str] = None,
        files: Optional[List[CallFile]] = None,
        context: Optional[Dict[str, Any]] = None,
        limits: Optional[CallLimits] = None,
        mode: Optional[Literal["sync", "async"]] = None,
        wait_ms: Optional[int] = None,
        deadline_ms: Optional[int] = None,
        cancel_on_disconnect: Optional[bool] = None,
        priority: Optional[Literal["interactive", "normal", "batch"]] = None,
        idempotency_key: Optional[str] = None,
        traceparent: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Execution:
        """Call a tool.

        A sync call answers with its end: 200 for `succeeded` and `cancelled`, else with the error's status
        and the record's id. It answers 202 when it waits for people, outlives `wait_ms`, or was made `async`.
        With `stream: true` the answer is the call's stream. With an idempotency key the same call may be sent
        again at any time: it runs once.

        Takes the scope `tools:invoke`.

        tool: The tool's name
        input: The arguments: any JSON that the tool's input schema takes, at most 1048576 bytes; numbers keep
            their digits
        version: An exact version or a range; else the tenant's pin, the active version, or the newest stable
            one
        tenant: If given, it must be the credential's own
        project: If given, it must be the credential's own, or one that it may use
        files: Input files of a sandbox tool, mounted read-only below `/workspace`
        context: What rules and people may know of the call's surroundings (workflow_id, agent, correlation_id
            …); at most 16384 bytes of JSON
        limits: Lowers the tool's own limits; what is higher than those changes nothing
        mode: `sync` (without it): the answer waits for the end; `async`: it comes as soon as the call is
            stored
        wait_ms: How long a sync answer may wait, in ms; then it is 202
        deadline_ms: Time in all, in ms from admission: waiting for people, in the queue, all attempts
        cancel_on_disconnect: The call is cancelled when the caller's connection closes before the answer
        priority: `normal` without it
        idempotency_key: Names this call for good: the same key again runs nothing. In the header
            Idempotency-Key just as well
        traceparent: W3C Trace Context; a malformed one is passed over

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, integrity_violation, approval_denied, approval_expired, tool_not_found,
        project_not_found, idempotency_conflict, conflict, payload_too_large, resource_exceeded, tool_error,
        rate_limited, quota_exceeded, queue_full, internal, lease_expired, indeterminate, worker_rejected,
        invalid_output, sandbox_unavailable, no_handler, capacity_exhausted, breaker_open, draining,
        ledger_unavailable, timeout.
        """
        body: Dict[str, Any] = {"tool": tool, "input": input}
        body.update(given({
            "version": version,
            "tenant": tenant,
            "project": project,
            "files": files,
            "context": context,
            "limits": limits,
            "mode": mode,
            "wait_ms": wait_ms,
            "deadline_ms": deadline_ms,
            "cancel_on_disconnect": cancel_on_disconnect,
            "priority": priority,
        }))
        body["idempotency_key"] = new_key() if idempotency_key is None else idempotency_key
        answer: Execution = self._send(
            Request(
                "POST",
                "/v1/executions",
                headers={"traceparent": traceparent},
                body=json_bytes(body),
                wait_s=(30000 if wait_ms is None else wait_ms) / 1000,
                repeatable=True,
                idempotency_key=body["idempotency_key"],
                record_is_final=True,
            ),
            timeout_s,
        )
        return answer

    def invoke_stream(
        self,
        *,
        tool: str,
        input: Any,
        version: Optional[str] = None,
        tenant: Optional[str] = None,
        project: Optional[str] = None,
        files: Optional[List[CallFile]] = None,
        context: Optional[Dict[str, Any]] = None,
        limits: Optional[CallLimits] = None,
        wait_ms: Optional[int] = None,
        deadline_ms: Optional[int] = None,
        cancel_on_disconnect: Optional[bool] = None,
        priority: Optional[Literal["interactive", "normal", "batch"]] = None,
        idempotency_key: Optional[str] = None,
        traceparent: Optional[str] = None,
    ) -> Iterator[StreamEvent]:
        """Call a tool.

        Comes back by itself for what it missed where a connection breaks; the last event is `done` or
        `error`.

        A sync call answers with its end: 200 for `succeeded` and `cancelled`, else with the error's status
        and the record's id. It answers 202 when it waits for people, outlives `wait_ms`, or was made `async`.
        With `stream: true` the answer is the call's stream. With an idempotency key the same call may be sent
        again at any time: it runs once.

        Takes the scope `tools:invoke`.

        tool: The tool's name
        input: The arguments: any JSON that the tool's input schema takes, at most 1048576 bytes; numbers keep
            their digits
        version: An exact version or a range; else the tenant's pin, the active version, or the newest stable
            one
        tenant: If given, it must be the credential's own
        project: If given, it must be the credential's own, or one that it may use
        files: Input files of a sandbox tool, mounted read-only below `/workspace`
        context: What rules and people may know of the call's surroundings (workflow_id, agent, correlation_id
            …); at most 16384 bytes of JSON
        limits: Lowers the tool's own limits; what is higher than those changes nothing
        wait_ms: How long a sync answer may wait, in ms; then it is 202
        deadline_ms: Time in all, in ms from admission: waiting for people, in the queue, all attempts
        cancel_on_disconnect: The call is cancelled when the caller's connection closes before the answer
        priority: `normal` without it
        idempotency_key: Names this call for good: the same key again runs nothing. In the header
            Idempotency-Key just as well
        traceparent: W3C Trace Context; a malformed one is passed over

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, integrity_violation, approval_denied, approval_expired, tool_not_found,
        project_not_found, idempotency_conflict, conflict, payload_too_large, resource_exceeded, tool_error,
        rate_limited, quota_exceeded, queue_full, internal, lease_expired, indeterminate, worker_rejected,
        invalid_output, sandbox_unavailable, no_handler, capacity_exhausted, breaker_open, draining,
        ledger_unavailable, timeout.
        """
        body: Dict[str, Any] = {"tool": tool, "input": input}
        body.update(given({
            "version": version,
            "tenant": tenant,
            "project": project,
            "files": files,
            "context": context,
            "limits": limits,
            "wait_ms": wait_ms,
            "deadline_ms": deadline_ms,
            "cancel_on_disconnect": cancel_on_disconnect,
            "priority": priority,
        }))
        body["idempotency_key"] = new_key() if idempotency_key is None else idempotency_key
        body["stream"] = True
        request = Request(
            "POST",
            "/v1/executions",
            headers={"traceparent": traceparent},
            body=json_bytes(body),
            wait_s=(30000 if wait_ms is None else wait_ms) / 1000,
            repeatable=True,
            idempotency_key=body["idempotency_key"],
            record_is_final=True,
        )
        return self._follow(request, 0, None)

    def list_executions(
        self,
        *,
        project: Optional[str] = None,
        tool: Optional[str] = None,
        status: Optional[CallState] = None,
        principal: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ExecutionPage:
        """List calls, newest first.

        Takes the scope `calls:read`.

        project: Calls of this project
        tool: Calls of this tool
        status: Calls in this state
        principal: Calls that this principal made
        from_: Calls made at this instant or later
        to: Calls made before this instant
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: ExecutionPage = self._send(
            Request(
                "GET",
                "/v1/executions",
                query={
                    "project": project,
                    "tool": tool,
                    "status": status,
                    "principal": principal,
                    "from": from_,
                    "to": to,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_executions(
        self,
        *,
        project: Optional[str] = None,
        tool: Optional[str] = None,
        status: Optional[CallState] = None,
        principal: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Execution]:
        """List calls, newest first.

        All of them, page after page.

        Takes the scope `calls:read`.

        project: Calls of this project
        tool: Calls of this tool
        status: Calls in this state
        principal: Calls that this principal made
        from_: Calls made at this instant or later
        to: Calls made before this instant
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_executions(
                project=project,
                tool=tool,
                status=status,
                principal=principal,
                from_=from_,
                to=to,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def get_execution(self, id: str, *, timeout_s: Optional[float] = None) -> ExecutionDetail:
        """Read a call's record.

        Takes the scope `calls:read`.

        id: `execution_id` of the call

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        execution_not_found, internal, ledger_unavailable.
        """
        answer: ExecutionDetail = self._send(
            Request(
                "GET",
                f"/v1/executions/{in_path(id)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_execution_events(
        self,
        id: str,
        *,
        after_seq: Optional[int] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> ExecutionEventPage:
        """List a call's changes, oldest first.

        Takes the scope `calls:read`.

        id: `execution_id` of the call
        after_seq: Events behind this number; 0: from the beginning
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        execution_not_found, internal, ledger_unavailable.
        """
        answer: ExecutionEventPage = self._send(
            Request(
                "GET",
                f"/v1/executions/{in_path(id)}/events",
                query={"after_seq": after_seq, "limit": limit},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_execution_events(
        self,
        id: str,
        *,
        after_seq: Optional[int] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[ExecutionEvent]:
        """List a call's changes, oldest first.

        All of them, page after page.

        Takes the scope `calls:read`.

        id: `execution_id` of the call
        after_seq: Events behind this number; 0: from the beginning
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        execution_not_found, internal, ledger_unavailable.
        """
        while True:
            page = self.list_execution_events(id=id, after_seq=after_seq, limit=limit, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_after_seq"] is None:
                return
            after_seq = page["next_after_seq"]

    def cancel_execution(self, id: str, *, timeout_s: Optional[float] = None) -> Execution:
        """Stop a call.

        May be sent again at any time; a call that has ended stays as it ended. Of a call whose end nobody
        knows somebody has to say it first.

        Takes the scope `calls:cancel`.

        id: `execution_id` of the call

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        execution_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        answer: Execution = self._send(
            Request(
                "POST",
                f"/v1/executions/{in_path(id)}/cancel",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def resolve_execution(
        self,
        id: str,
        *,
        verdict: Literal["confirm", "retry", "fail"],
        output: Union[Any, Omitted] = OMIT,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Execution:
        """Say how a call ended whose end nobody knows.

        Takes the scope `approvals:decide`.

        id: `execution_id` of the call
        verdict: `confirm`: it happened; `retry`: it did not, run it again; `fail`: give it up
        output: With `confirm`: the result; without it the late result, if one came
        comment: For the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        execution_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"verdict": verdict}
        body.update(given({"comment": comment}))
        body.update(present({"output": output}))
        answer: Execution = self._send(
            Request(
                "POST",
                f"/v1/executions/{in_path(id)}/resolve",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def stream_execution(self, id: str, *, after_seq: Optional[int] = None) -> Iterator[StreamEvent]:
        """Follow a call as it goes.

        Comes back by itself for what it missed where a connection breaks; the last event is `done` or
        `error`.

        From its beginning, or from behind an event's number. Takes the scope calls:read, or tools:invoke for
        one's own calls. The last event is `done` or `error`. Comments come every 15 s when nothing else does.

        Takes the scope `calls:read` or `tools:invoke`.

        id: `execution_id` of the call
        after_seq: Events behind this number; 0: from the beginning

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        execution_not_found, internal, ledger_unavailable.
        """
        request = Request(
            "GET",
            f"/v1/executions/{in_path(id)}/stream",
            query={"after_seq": after_seq},
            repeatable=True,
        )
        return self._follow(request, after_seq or 0, request)

    def put_file(self, content: bytes, *, timeout_s: Optional[float] = None) -> StoredFile:
        """Store a file under the digest of its content.

        The same content again is the same file.

        Takes the scope `tools:invoke` or `tools:write`.

        content: The content itself

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        payload_too_large, rate_limited, quota_exceeded, internal, ledger_unavailable.
        """
        answer: StoredFile = self._send(
            Request(
                "PUT",
                "/v1/files",
                body=content,
                content_type="application/octet-stream",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def put_package(self, *, files: List[PackageFile], timeout_s: Optional[float] = None) -> StoredPackage:
        """Make a package of stored files.

        Takes the scope `tools:write`.

        files: All of its files

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        payload_too_large, rate_limited, quota_exceeded, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"files": files}
        answer: StoredPackage = self._send(
            Request(
                "PUT",
                "/v1/packages",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_tools(
        self,
        *,
        search: Optional[str] = None,
        category: Optional[str] = None,
        owner: Optional[str] = None,
        label: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ToolPage:
        """List and search tools.

        Takes the scope `tools:read`.

        search: Words that all occur in name, description, category, owner or a label
        category: Tools of this category
        owner: Tools of this owner
        label: `name=value`, or `name` for any value
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: ToolPage = self._send(
            Request(
                "GET",
                "/v1/tools",
                query={
                    "search": search,
                    "category": category,
                    "owner": owner,
                    "label": label,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_tools(
        self,
        *,
        search: Optional[str] = None,
        category: Optional[str] = None,
        owner: Optional[str] = None,
        label: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Tool]:
        """List and search tools.

        All of them, page after page.

        Takes the scope `tools:read`.

        search: Words that all occur in name, description, category, owner or a label
        category: Tools of this category
        owner: Tools of this owner
        label: `name=value`, or `name` for any value
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_tools(
                search=search,
                category=category,
                owner=owner,
                label=label,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def register_tool(
        self,
        document: Union[str, Mapping[str, Any]],
        *,
        activate: Optional[bool] = None,
        package: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> RegisteredTool:
        """Publish a version of a tool.

        Takes the scope `tools:write`.

        document: YAML or JSON as text, or data
        activate: Whether callers that name no version get it; without it, only the first version of a tool
        package: Digest of the package of code that a sandbox tool runs

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body, content_type = document_body(document)
        answer: RegisteredTool = self._send(
            Request(
                "PUT",
                "/v1/tools",
                query={"activate": activate, "package": package},
                body=body,
                content_type=content_type,
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def get_tool(
        self,
        name: str,
        *,
        version: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ToolDetail:
        """Read a tool with one of its versions.

        Takes the scope `tools:read`.

        name: The tool's name
        version: The version to show: exact or a range; else what a caller gets that names none

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, internal, ledger_unavailable.
        """
        answer: ToolDetail = self._send(
            Request(
                "GET",
                f"/v1/tools/{in_path(name)}",
                query={"version": version},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def activate_tool(self, name: str, *, version: str, timeout_s: Optional[float] = None) -> Tool:
        """Choose the version that runs where none is named.

        Takes the scope `tools:write`.

        name: The tool's name
        version: An exact version

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        answer: Tool = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/activate",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_tool_activations(self, name: str, *, timeout_s: Optional[float] = None) -> ActivationPage:
        """List which versions were chosen, newest first.

        Takes the scope `tools:read`.

        name: The tool's name

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, internal, ledger_unavailable.
        """
        answer: ActivationPage = self._send(
            Request(
                "GET",
                f"/v1/tools/{in_path(name)}/activations",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def roll_back_tool(
        self,
        name: str,
        *,
        version: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> RolledBackTool:
        """Go back to the version that ran before.

        Takes the scope `tools:write`.

        name: The tool's name
        version: The version to go back to; the one active before, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"version": version}))
        answer: RolledBackTool = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/rollback",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def pin_tool(self, name: str, *, version: str, timeout_s: Optional[float] = None) -> ToolPin:
        """Say which version the tenant's callers get that name none.

        Takes the scope `tools:write`.

        name: The tool's name
        version: An exact version or a range

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        answer: ToolPin = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/pin",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def unpin_tool(self, name: str, *, timeout_s: Optional[float] = None) -> ToolPin:
        """Take the pin away.

        Takes the scope `tools:write`.

        name: The tool's name

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        answer: ToolPin = self._send(
            Request(
                "DELETE",
                f"/v1/tools/{in_path(name)}/pin",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def deprecate_tool(
        self,
        name: str,
        *,
        version: str,
        deprecated: Optional[bool] = None,
        timeout_s: Optional[float] = None,
    ) -> ToolVersion:
        """Let ranges pass over a version, or take that back.

        Takes the scope `tools:write`.

        name: The tool's name
        version: An exact version
        deprecated: `false` takes it back

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        body.update(given({"deprecated": deprecated}))
        answer: ToolVersion = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/deprecate",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def quarantine_tool(
        self,
        name: str,
        *,
        reason: str,
        version: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> QuarantineResult:
        """Let a version run no more, whoever names it.

        What is queued or waits for people is denied; what runs goes on.

        Takes the scope `tools:write`.

        name: The tool's name
        reason: For people and the audit
        version: One version; all of them, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"reason": reason}
        body.update(given({"version": version}))
        answer: QuarantineResult = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/quarantine",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def release_tool(
        self,
        name: str,
        *,
        version: Optional[str] = None,
        reason: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> QuarantineResult:
        """End a quarantine.

        Takes the scope `tools:write`.

        name: The tool's name
        version: One version; all of them, without it
        reason: For people and the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"version": version, "reason": reason}))
        answer: QuarantineResult = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/release",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def enable_tool(
        self,
        name: str,
        *,
        project: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ProjectTool:
        """Let a project use a tool.

        Takes the scope `tools:write`.

        name: The tool's name
        project: The caller's own, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, project_not_found, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"project": project}))
        answer: ProjectTool = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/enable",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def disable_tool(
        self,
        name: str,
        *,
        project: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ProjectTool:
        """Let a project not use a tool.

        Takes the scope `tools:write`.

        name: The tool's name
        project: The caller's own, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, project_not_found, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"project": project}))
        answer: ProjectTool = self._send(
            Request(
                "POST",
                f"/v1/tools/{in_path(name)}/disable",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_tool_pins(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ToolPinPage:
        """List the tenant's pins.

        Takes the scope `tools:read`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: ToolPinPage = self._send(
            Request(
                "GET",
                "/v1/tools:pins",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_tool_pins(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[ToolPin]:
        """List the tenant's pins.

        All of them, page after page.

        Takes the scope `tools:read`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_tool_pins(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def list_project_tools(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ProjectToolPage:
        """List which projects may, or may not, use which tools.

        Takes the scope `tools:read`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: ProjectToolPage = self._send(
            Request(
                "GET",
                "/v1/tools:projects",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_project_tools(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[ProjectTool]:
        """List which projects may, or may not, use which tools.

        All of them, page after page.

        Takes the scope `tools:read`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_project_tools(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def list_agents(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> AgentPage:
        """List agents.

        Takes the scope `tools:read` or `sessions:read`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: AgentPage = self._send(
            Request(
                "GET",
                "/v1/agents",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_agents(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Agent]:
        """List agents.

        All of them, page after page.

        Takes the scope `tools:read` or `sessions:read`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_agents(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def publish_agent(
        self,
        document: Union[str, Mapping[str, Any]],
        *,
        dry_run: Optional[bool] = None,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> PublishedAgent:
        """Publish a version of an agent.

        It runs when it is deployed. The agents that its tools run are pinned to the versions that are
        deployed now.

        Takes the scope `tools:write`.

        document: YAML or JSON as text, or data
        dry_run: `true`: check everything and store nothing
        comment: Kept with the change and in the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body, content_type = document_body(document)
        answer: PublishedAgent = self._send(
            Request(
                "PUT",
                "/v1/agents",
                query={"dry_run": dry_run, "comment": comment},
                body=body,
                content_type=content_type,
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def get_agent(
        self,
        name: str,
        *,
        version: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> AgentDetail:
        """Read an agent with one of its versions.

        Takes the scope `tools:read` or `sessions:read`.

        name: The agent's name
        version: An exact version; else the deployed one, else the one that was published last

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, internal, ledger_unavailable.
        """
        answer: AgentDetail = self._send(
            Request(
                "GET",
                f"/v1/agents/{in_path(name)}",
                query={"version": version},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_agent_versions(
        self,
        name: str,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> AgentVersionPage:
        """List the versions of an agent, newest first.

        Takes the scope `tools:read` or `sessions:read`.

        name: The agent's name
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, internal, ledger_unavailable.
        """
        answer: AgentVersionPage = self._send(
            Request(
                "GET",
                f"/v1/agents/{in_path(name)}/versions",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_agent_versions(
        self,
        name: str,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[AgentVersionLine]:
        """List the versions of an agent, newest first.

        All of them, page after page.

        Takes the scope `tools:read` or `sessions:read`.

        name: The agent's name
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_agent_versions(name=name, limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def deploy_agent(
        self,
        name: str,
        *,
        version: str,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Agent:
        """Choose the version that new sessions run.

        Takes the scope `tools:write`.

        name: The agent's name
        version: An exact version
        comment: Kept with the change and in the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        body.update(given({"comment": comment}))
        answer: Agent = self._send(
            Request(
                "POST",
                f"/v1/agents/{in_path(name)}/deploy",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def roll_back_agent(
        self,
        name: str,
        *,
        version: Optional[str] = None,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> RolledBackAgent:
        """Go back to the version that was deployed before.

        Takes the scope `tools:write`.

        name: The agent's name
        version: The version that was deployed before, without it
        comment: Kept with the change and in the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"version": version, "comment": comment}))
        answer: RolledBackAgent = self._send(
            Request(
                "POST",
                f"/v1/agents/{in_path(name)}/rollback",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def deprecate_agent(
        self,
        name: str,
        *,
        version: str,
        deprecated: Optional[bool] = None,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> AgentVersion:
        """Let a version start no more sessions, or let it again.

        Takes the scope `tools:write`.

        name: The agent's name
        version: An exact version
        deprecated: False takes the mark away
        comment: Kept with the change and in the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        body.update(given({"deprecated": deprecated, "comment": comment}))
        answer: AgentVersion = self._send(
            Request(
                "POST",
                f"/v1/agents/{in_path(name)}/deprecate",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def retire_agent(
        self,
        name: str,
        *,
        version: str,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> AgentVersion:
        """Let a version start no more sessions, for good.

        Takes the scope `tools:write`.

        name: The agent's name
        version: An exact version
        comment: Kept with the change and in the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        body.update(given({"comment": comment}))
        answer: AgentVersion = self._send(
            Request(
                "POST",
                f"/v1/agents/{in_path(name)}/retire",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def archive_agent(
        self,
        name: str,
        *,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Agent:
        """Let an agent start no more sessions.

        Takes the scope `tools:write`.

        name: The agent's name
        comment: Kept with the change and in the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"comment": comment}))
        answer: Agent = self._send(
            Request(
                "POST",
                f"/v1/agents/{in_path(name)}/archive",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def unarchive_agent(
        self,
        name: str,
        *,
        comment: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Agent:
        """Bring an archived agent back.

        Takes the scope `tools:write`.

        name: The agent's name
        comment: Kept with the change and in the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"comment": comment}))
        answer: Agent = self._send(
            Request(
                "POST",
                f"/v1/agents/{in_path(name)}/unarchive",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def diff_agent(self, name: str, *, from_: str, to: str, timeout_s: Optional[float] = None) -> AgentDiff:
        """Hold two versions of an agent side by side.

        Takes the scope `tools:read` or `sessions:read`.

        name: The agent's name
        from_: The version to start from
        to: The version that is held against it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, internal, ledger_unavailable.
        """
        answer: AgentDiff = self._send(
            Request(
                "GET",
                f"/v1/agents/{in_path(name)}/diff",
                query={"from": from_, "to": to},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_agent_changes(self, name: str, *, timeout_s: Optional[float] = None) -> AgentChangePage:
        """List what was done to an agent, newest first.

        Takes the scope `tools:read` or `sessions:read`.

        name: The agent's name

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, internal, ledger_unavailable.
        """
        answer: AgentChangePage = self._send(
            Request(
                "GET",
                f"/v1/agents/{in_path(name)}/history",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def start_session(
        self,
        *,
        agent: str,
        version: Optional[str] = None,
        project: Optional[str] = None,
        message: Optional[str] = None,
        context: Optional[Dict[str, Any]] = None,
        deadline_ms: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        wait_ms: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Session:
        """Start a session of an agent.

        It runs by itself from then on: the answer may wait for the turn's end, and need not. With an
        idempotency key the same may be sent again at any time: it starts one session.

        Takes the scope `sessions:run`.

        agent: The agent's name
        version: An exact version; else the one that is deployed
        project: If given, it must be the credential's own, or one that it may use
        message: The first message; without it the session waits for one
        context: What is kept with the session and told to its policies; at most 15360 bytes of JSON
        deadline_ms: Of the whole session, in ms; no call of it outlives this
        idempotency_key: Names this session for good: the same key again starts nothing. In the header
            Idempotency-Key just as well
        wait_ms: How long the answer may wait for the turn's end, in ms; then it is 202

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        agent_not_found, project_not_found, idempotency_conflict, conflict, payload_too_large, internal,
        draining, ledger_unavailable.
        """
        body: Dict[str, Any] = {"agent": agent}
        body.update(given({
            "version": version,
            "project": project,
            "message": message,
            "context": context,
            "deadline_ms": deadline_ms,
            "wait_ms": wait_ms,
        }))
        body["idempotency_key"] = new_key() if idempotency_key is None else idempotency_key
        answer: Session = self._send(
            Request(
                "POST",
                "/v1/sessions",
                body=json_bytes(body),
                wait_s=(0 if wait_ms is None else wait_ms) / 1000,
                repeatable=True,
                idempotency_key=body["idempotency_key"],
                record_is_final=True,
            ),
            timeout_s,
        )
        return answer

    def list_sessions(
        self,
        *,
        project: Optional[str] = None,
        agent: Optional[str] = None,
        status: Optional[SessionState] = None,
        principal: Optional[str] = None,
        parent: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> SessionPage:
        """List sessions, newest first.

        Takes the scope `sessions:read`.

        project: Sessions of this project
        agent: Sessions of this agent
        status: Sessions in this state
        principal: Sessions that this principal started
        parent: Children of this session
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: SessionPage = self._send(
            Request(
                "GET",
                "/v1/sessions",
                query={
                    "project": project,
                    "agent": agent,
                    "status": status,
                    "principal": principal,
                    "parent": parent,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_sessions(
        self,
        *,
        project: Optional[str] = None,
        agent: Optional[str] = None,
        status: Optional[SessionState] = None,
        principal: Optional[str] = None,
        parent: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[SessionLine]:
        """List sessions, newest first.

        All of them, page after page.

        Takes the scope `sessions:read`.

        project: Sessions of this project
        agent: Sessions of this agent
        status: Sessions in this state
        principal: Sessions that this principal started
        parent: Children of this session
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_sessions(
                project=project,
                agent=agent,
                status=status,
                principal=principal,
                parent=parent,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def get_session(self, id: str, *, timeout_s: Optional[float] = None) -> Session:
        """Read a session.

        Takes the scope `sessions:read`.

        id: `session_id` of the session

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        session_not_found, internal, ledger_unavailable.
        """
        answer: Session = self._send(
            Request(
                "GET",
                f"/v1/sessions/{in_path(id)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def send_message(
        self,
        id: str,
        *,
        text: str,
        idempotency_key: Optional[str] = None,
        wait_ms: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> SentSession:
        """Send a session a message.

        One that works hears it at its next checkpoint, before the model is asked again. One that has ended
        takes none.

        Takes the scope `sessions:run`.

        id: `session_id` of the session
        text: What a person, or a program in its place, says; at most 262144 bytes of UTF-8
        idempotency_key: Names this message for good, in its session. In the header Idempotency-Key just as
            well
        wait_ms: How long the answer may wait for the turn's end, in ms; then it is 202

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        session_not_found, idempotency_conflict, conflict, payload_too_large, queue_full, internal,
        ledger_unavailable.
        """
        body: Dict[str, Any] = {"text": text}
        body.update(given({"wait_ms": wait_ms}))
        body["idempotency_key"] = new_key() if idempotency_key is None else idempotency_key
        answer: SentSession = self._send(
            Request(
                "POST",
                f"/v1/sessions/{in_path(id)}/messages",
                body=json_bytes(body),
                wait_s=(0 if wait_ms is None else wait_ms) / 1000,
                repeatable=True,
                idempotency_key=body["idempotency_key"],
                record_is_final=True,
            ),
            timeout_s,
        )
        return answer

    def cancel_session(
        self,
        id: str,
        *,
        scope: Optional[Literal["session", "turn", "batch", "call"]] = None,
        execution_id: Optional[str] = None,
        reason: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Session:
        """Stop a session, its turn, its batch of calls, or one call.

        Without a body: its turn. A session that has ended stays as it ended.

        Takes the scope `sessions:run`.

        id: `session_id` of the session
        scope: What is stopped: the session for good, its turn, the calls that run together, or one call
        execution_id: With scope `call`: which one
        reason: For people and the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        execution_not_found, session_not_found, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"scope": scope, "execution_id": execution_id, "reason": reason}))
        answer: Session = self._send(
            Request(
                "POST",
                f"/v1/sessions/{in_path(id)}/cancel",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def complete_session(self, id: str, *, timeout_s: Optional[float] = None) -> Session:
        """Say that a session is done.

        One that waits for a message ends at once; one that works ends with its turn. One that failed or was
        cancelled is not completed.

        Takes the scope `sessions:run`.

        id: `session_id` of the session

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        session_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        answer: Session = self._send(
            Request(
                "POST",
                f"/v1/sessions/{in_path(id)}/complete",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_session_events(
        self,
        id: str,
        *,
        after_seq: Optional[int] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> SessionEventPage:
        """List what happened in a session, oldest first.

        Takes the scope `sessions:read`.

        id: `session_id` of the session
        after_seq: Events behind this number; 0: from the beginning
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        session_not_found, internal, ledger_unavailable.
        """
        answer: SessionEventPage = self._send(
            Request(
                "GET",
                f"/v1/sessions/{in_path(id)}/events",
                query={"after_seq": after_seq, "limit": limit},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_session_events(
        self,
        id: str,
        *,
        after_seq: Optional[int] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[SessionEvent]:
        """List what happened in a session, oldest first.

        All of them, page after page.

        Takes the scope `sessions:read`.

        id: `session_id` of the session
        after_seq: Events behind this number; 0: from the beginning
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        session_not_found, internal, ledger_unavailable.
        """
        while True:
            page = self.list_session_events(id=id, after_seq=after_seq, limit=limit, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_after_seq"] is None:
                return
            after_seq = page["next_after_seq"]

    def stream_session(self, id: str, *, after_seq: Optional[int] = None) -> Iterator[StreamEvent]:
        """Follow a session as it goes.

        Comes back by itself for what it missed where a connection breaks; the last event is `done` or
        `error`.

        From its beginning, or from behind an event's number. Between the events, which have ids and are never
        lost, come pieces of answers on their way (`delta`), which have none: a reader that is too slow for
        them gets a `gap` in their place. The last event is `session.ended`. Comments come every 15 s when
        nothing else does.

        Takes the scope `sessions:read`.

        id: `session_id` of the session
        after_seq: Events behind this number; 0: from the beginning

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        session_not_found, internal, ledger_unavailable.
        """
        request = Request(
            "GET",
            f"/v1/sessions/{in_path(id)}/stream",
            query={"after_seq": after_seq},
            repeatable=True,
        )
        return self._follow(request, after_seq or 0, request)

    def get_session_timeline(self, id: str, *, timeout_s: Optional[float] = None) -> SessionTimeline:
        """Read everything that a session and its children did.

        Takes the scope `sessions:read`.

        id: `session_id` of the session

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        session_not_found, internal, ledger_unavailable.
        """
        answer: SessionTimeline = self._send(
            Request(
                "GET",
                f"/v1/sessions/{in_path(id)}/timeline",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_policies(
        self,
        *,
        level: Optional[Literal["platform", "tenant", "project", "attached"]] = None,
        project: Optional[str] = None,
        name: Optional[str] = None,
        status: Optional[Literal["active", "superseded", "withdrawn"]] = None,
        platform: Optional[bool] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> PolicyPage:
        """List versions of policies.

        Takes the scope `tools:read`.

        level: Policies of this level
        project: Policies of this project
        name: Versions of this policy
        status: Versions of this status
        platform: `true`: the platform's, which bind the tenant's calls, in place of the tenant's own
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: PolicyPage = self._send(
            Request(
                "GET",
                "/v1/policies",
                query={
                    "level": level,
                    "project": project,
                    "name": name,
                    "status": status,
                    "platform": platform,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_policies(
        self,
        *,
        level: Optional[Literal["platform", "tenant", "project", "attached"]] = None,
        project: Optional[str] = None,
        name: Optional[str] = None,
        status: Optional[Literal["active", "superseded", "withdrawn"]] = None,
        platform: Optional[bool] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Policy]:
        """List versions of policies.

        All of them, page after page.

        Takes the scope `tools:read`.

        level: Policies of this level
        project: Policies of this project
        name: Versions of this policy
        status: Versions of this status
        platform: `true`: the platform's, which bind the tenant's calls, in place of the tenant's own
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_policies(
                level=level,
                project=project,
                name=name,
                status=status,
                platform=platform,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def publish_policy(
        self,
        document: Union[str, Mapping[str, Any]],
        *,
        dry_run: Optional[bool] = None,
        timeout_s: Optional[float] = None,
    ) -> PublishedPolicy:
        """Publish a version of a policy and put it in force.

        Takes the scope `policies:write`.

        document: YAML or JSON as text, or data
        dry_run: `true`: check everything and store nothing

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        project_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body, content_type = document_body(document)
        answer: PublishedPolicy = self._send(
            Request(
                "PUT",
                "/v1/policies",
                query={"dry_run": dry_run},
                body=body,
                content_type=content_type,
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def get_policy(
        self,
        name: str,
        *,
        version: Optional[str] = None,
        platform: Optional[bool] = None,
        timeout_s: Optional[float] = None,
    ) -> PolicyDetail:
        """Read a policy with its document.

        Takes the scope `tools:read`.

        name: The policy's name
        version: An exact version; else the active one, else the newest
        platform: `true`: the platform's, which bind the tenant's calls, in place of the tenant's own

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_not_found, internal, ledger_unavailable.
        """
        answer: PolicyDetail = self._send(
            Request(
                "GET",
                f"/v1/policies/{in_path(name)}",
                query={"version": version, "platform": platform},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def activate_policy(self, name: str, *, version: str, timeout_s: Optional[float] = None) -> Policy:
        """Put an older version in force again.

        Takes the scope `policies:write`.

        name: The policy's name
        version: An exact version

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        answer: Policy = self._send(
            Request(
                "POST",
                f"/v1/policies/{in_path(name)}/activate",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def withdraw_policy(self, name: str, *, version: str, timeout_s: Optional[float] = None) -> Policy:
        """Take a version out of force.

        Takes the scope `policies:write`.

        name: The policy's name
        version: An exact version

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"version": version}
        answer: Policy = self._send(
            Request(
                "POST",
                f"/v1/policies/{in_path(name)}/withdraw",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_policy_defaults(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> PolicyDefaultPage:
        """List what levels say where none of their rules matches.

        Takes the scope `tools:read`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: PolicyDefaultPage = self._send(
            Request(
                "GET",
                "/v1/policies:defaults",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_policy_defaults(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[PolicyDefault]:
        """List what levels say where none of their rules matches.

        All of them, page after page.

        Takes the scope `tools:read`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_policy_defaults(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def set_policy_default(
        self,
        *,
        decision: Optional[Literal["allow", "deny"]],
        project: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> PolicyDefault:
        """Say what a level decides where none of its rules matches.

        Takes the scope `policies:write`.

        decision: Null takes the default away
        project: The tenant's own level, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        project_not_found, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"decision": decision}
        body.update(given({"project": project}))
        answer: PolicyDefault = self._send(
            Request(
                "PUT",
                "/v1/policies:defaults",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def explain_policy(
        self,
        *,
        tool: str,
        version: Optional[str] = None,
        project: Optional[str] = None,
        input: Union[Any, Omitted] = OMIT,
        context: Optional[Dict[str, Any]] = None,
        principal: Optional[str] = None,
        roles: Optional[List[str]] = None,
        agent: Optional[str] = None,
        environment: Optional[str] = None,
        trigger: Optional[PolicyTrigger] = None,
        counts: Optional[CallCounts] = None,
        now: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> PolicyExplanation:
        """Ask what would be decided about a call, and why.

        Takes the scope `tools:read`.

        tool: The tool's name
        version: An exact version or a range
        project: The caller's own, without it
        input: Without it rules that read arguments stay unheard
        context: What rules and people may know of the call's surroundings (workflow_id, agent, correlation_id
            …); at most 16384 bytes of JSON
        principal: Somebody else than the caller; needs the scope policies:write
        roles: Roles of that principal
        agent: Empty: no agent
        environment: Empty: a project without one
        trigger: Rules for this trouble, in place of those before a call
        counts: Calls so far, for rules that count them
        now: For rules that read the clock

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, integrity_violation, tool_not_found, project_not_found, payload_too_large, internal,
        ledger_unavailable.
        """
        body: Dict[str, Any] = {"tool": tool}
        body.update(given({
            "version": version,
            "project": project,
            "context": context,
            "principal": principal,
            "roles": roles,
            "agent": agent,
            "environment": environment,
            "trigger": trigger,
            "counts": counts,
            "now": now,
        }))
        body.update(present({"input": input}))
        answer: PolicyExplanation = self._send(
            Request(
                "POST",
                "/v1/policies:explain",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def test_policies(
        self,
        *,
        cases: Any,
        policies: Optional[List[Any]] = None,
        timeout_s: Optional[float] = None,
    ) -> PolicyTestResult:
        """Run cases against the rules in force, or as they would be.

        Takes the scope `tools:read`.

        cases: A document of cases: `{cases: [{name, call, expect}]}`
        policies: Policy documents that are tried as if they were published

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"cases": cases}
        body.update(given({"policies": policies}))
        answer: PolicyTestResult = self._send(
            Request(
                "POST",
                "/v1/policies:test",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_approvals(
        self,
        *,
        project: Optional[str] = None,
        status: Optional[Literal["pending", "approved", "rejected", "expired", "cancelled", "escalated"]] = None,
        tool: Optional[str] = None,
        execution_id: Optional[str] = None,
        requester: Optional[str] = None,
        mine: Optional[bool] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ApprovalPage:
        """List questions put to people, newest first.

        Takes the scope `approvals:decide` or `calls:read`.

        project: Approvals of this project
        status: Approvals in this state
        tool: Approvals of calls of this tool
        execution_id: Approvals of this call
        requester: Approvals of calls that this principal made
        mine: `true`: those on which the caller could vote now
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: ApprovalPage = self._send(
            Request(
                "GET",
                "/v1/approvals",
                query={
                    "project": project,
                    "status": status,
                    "tool": tool,
                    "execution_id": execution_id,
                    "requester": requester,
                    "mine": mine,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_approvals(
        self,
        *,
        project: Optional[str] = None,
        status: Optional[Literal["pending", "approved", "rejected", "expired", "cancelled", "escalated"]] = None,
        tool: Optional[str] = None,
        execution_id: Optional[str] = None,
        requester: Optional[str] = None,
        mine: Optional[bool] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Approval]:
        """List questions put to people, newest first.

        All of them, page after page.

        Takes the scope `approvals:decide` or `calls:read`.

        project: Approvals of this project
        status: Approvals in this state
        tool: Approvals of calls of this tool
        execution_id: Approvals of this call
        requester: Approvals of calls that this principal made
        mine: `true`: those on which the caller could vote now
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_approvals(
                project=project,
                status=status,
                tool=tool,
                execution_id=execution_id,
                requester=requester,
                mine=mine,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def get_approval(self, id: str, *, timeout_s: Optional[float] = None) -> ApprovalDetail:
        """Read what is asked, why, and who has voted.

        Takes the scope `approvals:decide` or `calls:read`.

        id: `approval_id` of the approval

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        approval_not_found, internal, ledger_unavailable.
        """
        answer: ApprovalDetail = self._send(
            Request(
                "GET",
                f"/v1/approvals/{in_path(id)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def vote(
        self,
        id: str,
        *,
        decision: Literal["approve", "reject"],
        args_hash: str,
        comment: Optional[str] = None,
        args: Union[Any, Omitted] = OMIT,
        comprehended: Optional[bool] = None,
        timeout_s: Optional[float] = None,
    ) -> ApprovalDetail:
        """Approve, reject, or approve other arguments.

        The answer comes when the vote, and what follows from it, is stored. The same vote again changes
        nothing, and a vote on arguments that have changed since is refused.

        Takes the scope `approvals:decide`.

        id: `approval_id` of the approval
        decision: The person's answer
        args_hash: `args_hash` of the approval whose arguments the voter saw
        comment: For the requester and the audit
        args: With `approve`: other arguments, which void all earlier votes
        comprehended: `true` where the approval has `comprehension`: the voter understands what it allows

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, tool_not_found, approval_not_found, approval_closed, conflict, payload_too_large,
        internal, sandbox_unavailable, ledger_unavailable.
        """
        body: Dict[str, Any] = {"decision": decision, "args_hash": args_hash}
        body.update(given({"comment": comment, "comprehended": comprehended}))
        body.update(present({"args": args}))
        answer: ApprovalDetail = self._send(
            Request(
                "POST",
                f"/v1/approvals/{in_path(id)}/votes",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_freezes(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> FreezePage:
        """List what is stopped.

        Takes the scope `calls:read`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: FreezePage = self._send(
            Request(
                "GET",
                "/v1/freezes",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_freezes(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Freeze]:
        """List what is stopped.

        All of them, page after page.

        Takes the scope `calls:read`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_freezes(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def freeze(
        self,
        *,
        tool: Optional[str] = None,
        tenant: Optional[str] = None,
        reason: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Freeze:
        """Stop dispatch at once.

        Nothing of its scope goes to a worker any more; what runs goes on, and new calls wait. Without a body
        it stops all of the tenant's tools.

        Takes the scope `policies:write`.

        tool: One tool; all of them, without it
        tenant: For operators: one tenant; all of them, without it
        reason: For people and the audit

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"tool": tool, "tenant": tenant, "reason": reason}))
        answer: Freeze = self._send(
            Request(
                "POST",
                "/v1/freezes",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def lift_freeze(
        self,
        *,
        tool: Optional[str] = None,
        tenant: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> LiftedFreeze:
        """Let dispatch go on.

        Takes the scope `policies:write`.

        tool: One tool; all of them, without it
        tenant: For operators: one tenant; all of them, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"tool": tool, "tenant": tenant}))
        answer: LiftedFreeze = self._send(
            Request(
                "POST",
                "/v1/freezes:lift",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_keys(
        self,
        *,
        principal: Optional[str] = None,
        project: Optional[str] = None,
        status: Optional[Literal["active", "expired", "revoked"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> KeyPage:
        """List the tenant's keys.

        Takes the scope `admin`.

        principal: Keys of this principal
        project: Keys of this project
        status: Keys of which this has become
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: KeyPage = self._send(
            Request(
                "GET",
                "/v1/keys",
                query={
                    "principal": principal,
                    "project": project,
                    "status": status,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_keys(
        self,
        *,
        principal: Optional[str] = None,
        project: Optional[str] = None,
        status: Optional[Literal["active", "expired", "revoked"]] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Key]:
        """List the tenant's keys.

        All of them, page after page.

        Takes the scope `admin`.

        principal: Keys of this principal
        project: Keys of this project
        status: Keys of which this has become
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_keys(
                principal=principal,
                project=project,
                status=status,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def create_key(
        self,
        *,
        label: str,
        principal: str,
        scopes: List[Scope],
        project: Optional[str] = None,
        roles: Optional[List[str]] = None,
        expires_at: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> MadeKey:
        """Make a key.

        Its secret is in this answer and nowhere else.

        Takes the scope `admin`.

        label: For people
        principal: `user:<name>`, `service:<name>` or `agent:<name>`
        scopes: What it may ask of the API; `*` stands for all
        project: Where its calls belong; the caller's own without it
        roles: Roles in which its principal decides approvals
        expires_at: Never, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, project_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"label": label, "principal": principal, "scopes": scopes}
        body.update(given({"project": project, "roles": roles, "expires_at": expires_at}))
        answer: MadeKey = self._send(
            Request(
                "POST",
                "/v1/keys",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def revoke_key(self, id: str, *, timeout_s: Optional[float] = None) -> Key:
        """Revoke a key for good.

        Takes the scope `admin`.

        id: `key_id` of the key

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        key_not_found, payload_too_large, internal, ledger_unavailable.
        """
        answer: Key = self._send(
            Request(
                "DELETE",
                f"/v1/keys/{in_path(id)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_grants(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> GrantPage:
        """List the tenant's grants.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: GrantPage = self._send(
            Request(
                "GET",
                "/v1/grants",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_grants(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Grant]:
        """List the tenant's grants.

        All of them, page after page.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_grants(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def create_grant(
        self,
        *,
        subject: str,
        permissions: List[str],
        project: Optional[str] = None,
        roles: Optional[List[str]] = None,
        expires_at: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Grant:
        """Give permissions or roles to a principal.

        Takes the scope `admin`.

        subject: `user:<name>`, `service:<name>` or `agent:<name>`
        permissions: `domain:action:resource`, such as `tool:invoke:payments.*`
        project: Every project of the tenant, without it
        roles: Roles in which the principal decides approvals
        expires_at: Never, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, project_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"subject": subject, "permissions": permissions}
        body.update(given({"project": project, "roles": roles, "expires_at": expires_at}))
        answer: Grant = self._send(
            Request(
                "POST",
                "/v1/grants",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def revoke_grant(self, id: str, *, timeout_s: Optional[float] = None) -> Grant:
        """Revoke a grant for good.

        Takes the scope `admin`.

        id: `grant_id` of the grant

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        grant_not_found, payload_too_large, internal, ledger_unavailable.
        """
        answer: Grant = self._send(
            Request(
                "DELETE",
                f"/v1/grants/{in_path(id)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_projects(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> ProjectPage:
        """List the tenant's projects.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: ProjectPage = self._send(
            Request(
                "GET",
                "/v1/projects",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_projects(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Project]:
        """List the tenant's projects.

        All of them, page after page.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_projects(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def put_project(self, project: str, *, environment: str, timeout_s: Optional[float] = None) -> Project:
        """Make a project, or change its environment.

        Takes the scope `admin`.

        project: The project's name
        environment: A label that policies can match, such as `production`

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"environment": environment}
        answer: Project = self._send(
            Request(
                "PUT",
                f"/v1/projects/{in_path(project)}",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def resolve_executions(
        self,
        *,
        filter: ResolveManyRequestFilter,
        verdict: Literal["confirm", "retry", "fail"],
        comment: Optional[str] = None,
        dry_run: Optional[bool] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> ResolvedMany:
        """Say how many calls ended whose end nobody knows.

        Each is resolved and audited by itself; one that cannot be is told beside the others. `dry_run` counts
        and shows what is known of them, and resolves none. What is left over stands in `remaining`: send the
        same again.

        Takes the scope `approvals:decide`.

        filter: Which of the calls whose end nobody knows; every part that is given must hold
        verdict: `confirm` takes each call's own late result; a call without one stays as it is
        comment: For the audit of each call
        dry_run: True: nothing is resolved; how many match is counted, and what is known of them shown
        limit: At most so many; 500 without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"filter": filter, "verdict": verdict}
        body.update(given({"comment": comment, "dry_run": dry_run, "limit": limit}))
        answer: ResolvedMany = self._send(
            Request(
                "POST",
                "/v1/executions:resolve",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def replay_execution(
        self,
        id: str,
        *,
        acknowledge_may_have_executed: Optional[bool] = None,
        mode: Optional[Literal["sync", "async"]] = None,
        wait_ms: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Execution:
        """Make an ended call once more.

        A new call with the old one's tool, version and arguments as they were sent, through every stage and
        under the rights of whoever asks; its `context.causation_id` names the old one. A call that may have
        had its effect is replayed only with `acknowledge_may_have_executed`.

        Takes the scope `tools:invoke`.

        id: `execution_id` of the call
        acknowledge_may_have_executed: True: that the call may have had its effect is known, and it is wanted
            again
        mode: As for an invoke
        wait_ms: As for an invoke
        idempotency_key: Names the new call for good

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        policy_error, integrity_violation, approval_denied, approval_expired, tool_not_found,
        execution_not_found, project_not_found, idempotency_conflict, conflict, payload_too_large,
        resource_exceeded, tool_error, rate_limited, quota_exceeded, queue_full, internal, lease_expired,
        indeterminate, worker_rejected, invalid_output, sandbox_unavailable, no_handler, capacity_exhausted,
        breaker_open, draining, ledger_unavailable, timeout.
        """
        body: Dict[str, Any] = {}
        body.update(given({
            "acknowledge_may_have_executed": acknowledge_may_have_executed,
            "mode": mode,
            "wait_ms": wait_ms,
            "idempotency_key": idempotency_key,
        }))
        answer: Execution = self._send(
            Request(
                "POST",
                f"/v1/executions/{in_path(id)}/replay",
                body=json_bytes(body),
                wait_s=(0 if wait_ms is None else wait_ms) / 1000,
            ),
            timeout_s,
        )
        return answer

    def list_tenants(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> TenantPage:
        """List tenants by name: the operator's key sees all, others their own.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: TenantPage = self._send(
            Request(
                "GET",
                "/v1/tenants",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_tenants(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Tenant]:
        """List tenants by name: the operator's key sees all, others their own.

        All of them, page after page.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_tenants(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def create_tenant(
        self,
        *,
        tenant: str,
        weight: Optional[int] = None,
        admin: Optional[NewTenantAdmin] = None,
        timeout_s: Optional[float] = None,
    ) -> MadeTenant:
        """Make a tenant with the project `default` and a first key.

        Takes the scope `admin`.

        tenant: Letters, digits and _ . - between them
        weight: Its share of what all tenants wait for; 1 without it
        admin: Whose its first key is

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"tenant": tenant}
        body.update(given({"weight": weight, "admin": admin}))
        answer: MadeTenant = self._send(
            Request(
                "POST",
                "/v1/tenants",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def get_tenant(self, tenant: str, *, timeout_s: Optional[float] = None) -> Tenant:
        """Read a tenant.

        Takes the scope `admin`.

        tenant: Its name

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, internal, ledger_unavailable.
        """
        answer: Tenant = self._send(
            Request(
                "GET",
                f"/v1/tenants/{in_path(tenant)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def change_tenant(
        self,
        tenant: str,
        *,
        weight: Optional[int] = None,
        suspended: Optional[bool] = None,
        reason: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Tenant:
        """Weigh, suspend or resume a tenant.

        A suspended tenant's keys are refused with `forbidden` and the reason `tenant_suspended`; what runs
        goes on to its end, what waits goes on when it is resumed.

        Takes the scope `admin`.

        tenant: Its name
        weight: Its share of what all tenants wait for
        suspended: `true` stops it, `false` lets it go on
        reason: Why it is suspended; with `suspended: true`

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        body.update(given({"weight": weight, "suspended": suspended, "reason": reason}))
        answer: Tenant = self._send(
            Request(
                "PUT",
                f"/v1/tenants/{in_path(tenant)}",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_tenant_keys(
        self,
        tenant: str,
        *,
        principal: Optional[str] = None,
        project: Optional[str] = None,
        status: Optional[Literal["active", "expired", "revoked"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> KeyPage:
        """List the keys of a tenant.

        Takes the scope `admin`.

        tenant: Its name
        principal: Keys of this principal
        project: Keys of this project
        status: Keys of which this has become
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, internal, ledger_unavailable.
        """
        answer: KeyPage = self._send(
            Request(
                "GET",
                f"/v1/tenants/{in_path(tenant)}/keys",
                query={
                    "principal": principal,
                    "project": project,
                    "status": status,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_tenant_keys(
        self,
        tenant: str,
        *,
        principal: Optional[str] = None,
        project: Optional[str] = None,
        status: Optional[Literal["active", "expired", "revoked"]] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Key]:
        """List the keys of a tenant.

        All of them, page after page.

        Takes the scope `admin`.

        tenant: Its name
        principal: Keys of this principal
        project: Keys of this project
        status: Keys of which this has become
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_tenant_keys(
                tenant=tenant,
                principal=principal,
                project=project,
                status=status,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def create_tenant_key(
        self,
        tenant: str,
        *,
        label: str,
        principal: str,
        scopes: List[Scope],
        project: Optional[str] = None,
        roles: Optional[List[str]] = None,
        expires_at: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> MadeKey:
        """Make a key of a tenant.

        Takes the scope `admin`.

        tenant: Its name
        label: For people
        principal: `user:<name>`, `service:<name>` or `agent:<name>`
        scopes: What it may ask of the API; `*` stands for all
        project: Where its calls belong; the caller's own without it
        roles: Roles in which its principal decides approvals
        expires_at: Never, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"label": label, "principal": principal, "scopes": scopes}
        body.update(given({"project": project, "roles": roles, "expires_at": expires_at}))
        answer: MadeKey = self._send(
            Request(
                "POST",
                f"/v1/tenants/{in_path(tenant)}/keys",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def revoke_tenant_key(self, tenant: str, id: str, *, timeout_s: Optional[float] = None) -> Key:
        """End a key of a tenant for good.

        Takes the scope `admin`.

        tenant: Its name
        id: `key_id` of the key

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        key_not_found, tenant_not_found, payload_too_large, internal, ledger_unavailable.
        """
        answer: Key = self._send(
            Request(
                "DELETE",
                f"/v1/tenants/{in_path(tenant)}/keys/{in_path(id)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_limits(
        self,
        *,
        tenant: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> LimitPage:
        """List the limits that hold for a tenant's calls.

        Its own, what the operator set for it, and the platform's.

        Takes the scope `admin`.

        tenant: For operators: whose calls; without it the operator's own tenant
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, internal, ledger_unavailable.
        """
        answer: LimitPage = self._send(
            Request(
                "GET",
                "/v1/limits",
                query={"tenant": tenant, "limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_limits(
        self,
        *,
        tenant: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Limit]:
        """List the limits that hold for a tenant's calls.

        All of them, page after page.

        Its own, what the operator set for it, and the platform's.

        Takes the scope `admin`.

        tenant: For operators: whose calls; without it the operator's own tenant
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_limits(tenant=tenant, limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def put_limit(
        self,
        *,
        scope: Literal["platform", "tenant", "project", "principal", "agent", "tool"],
        subject: Optional[str] = None,
        rate: Optional[NewLimitRate] = None,
        quotas: Optional[NewLimitQuotas] = None,
        time_zone: Optional[str] = None,
        tenant: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> Limit:
        """Set a limit.

        It holds from the next request on, and takes the place of what the same side, the operator or the
        tenant, has said of the same subject. A call must pass all limits that match it. A tenant may not say
        more than what the operator has set for it.

        Takes the scope `admin`.

        scope: How wide it reaches
        subject: Which project, principal, agent or tool; `*`: each that has no limit of its own
        rate: A bucket of calls
        quotas: Of a tenant or a project
        time_zone: Where the tenant's day begins, such as `Europe/Paris`; UTC where nobody says
        tenant: For operators: whose calls; without it the operator's own tenant

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tool_not_found, tenant_not_found, project_not_found, conflict, payload_too_large, internal,
        ledger_unavailable.
        """
        body: Dict[str, Any] = {"scope": scope}
        body.update(given({
            "subject": subject,
            "rate": rate,
            "quotas": quotas,
            "time_zone": time_zone,
        }))
        answer: Limit = self._send(
            Request(
                "PUT",
                "/v1/limits",
                query={"tenant": tenant},
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def remove_limit(
        self,
        *,
        scope: Literal["platform", "tenant", "project", "principal", "agent", "tool"],
        tenant: Optional[str] = None,
        subject: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> RemovedLimit:
        """Remove a limit.

        Takes the scope `admin`.

        scope: As it was set
        tenant: For operators: whose calls; without it the operator's own tenant
        subject: As it was set; none for the scopes platform and tenant

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, payload_too_large, internal, ledger_unavailable.
        """
        answer: RemovedLimit = self._send(
            Request(
                "DELETE",
                "/v1/limits",
                query={"tenant": tenant, "scope": scope, "subject": subject},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def get_usage(
        self,
        *,
        tenant: Optional[str] = None,
        project: Optional[str] = None,
        tool: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        group_by: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> UsagePage:
        """Read what calls used.

        A call counts on the day of its tenant on which it was admitted, from the commit on that ends it; so a
        day is not whole while calls of it are open.

        Takes the scope `usage:read`.

        tenant: For operators: one tenant, or `*` for all; without it the operator's own
        project: Usage of this project
        tool: Usage of this tool
        from_: First day, by the tenant's time zone
        to: Last day, itself included
        group_by: Some of `tenant`, `project`, `tool`, `day`, in the order of the answer; empty: one row for
            all
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, internal, ledger_unavailable.
        """
        answer: UsagePage = self._send(
            Request(
                "GET",
                "/v1/usage",
                query={
                    "tenant": tenant,
                    "project": project,
                    "tool": tool,
                    "from": from_,
                    "to": to,
                    "group_by": group_by,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_get_usage(
        self,
        *,
        tenant: Optional[str] = None,
        project: Optional[str] = None,
        tool: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        group_by: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Usage]:
        """Read what calls used.

        All of them, page after page.

        A call counts on the day of its tenant on which it was admitted, from the commit on that ends it; so a
        day is not whole while calls of it are open.

        Takes the scope `usage:read`.

        tenant: For operators: one tenant, or `*` for all; without it the operator's own
        project: Usage of this project
        tool: Usage of this tool
        from_: First day, by the tenant's time zone
        to: Last day, itself included
        group_by: Some of `tenant`, `project`, `tool`, `day`, in the order of the answer; empty: one row for
            all
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        tenant_not_found, internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.get_usage(
                tenant=tenant,
                project=project,
                tool=tool,
                from_=from_,
                to=to,
                group_by=group_by,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def list_webhooks(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> WebhookPage:
        """List the tenant's webhooks.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: WebhookPage = self._send(
            Request(
                "GET",
                "/v1/webhooks",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_webhooks(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Webhook]:
        """List the tenant's webhooks.

        All of them, page after page.

        Takes the scope `admin`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_webhooks(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def add_webhook(
        self,
        *,
        url: str,
        types: Optional[List[str]] = None,
        timeout_s: Optional[float] = None,
    ) -> MadeWebhook:
        """Have somebody told of approvals.

        The secret that signs what is posted is in this answer and nowhere else.

        Takes the scope `admin`.

        url: Where notices are posted; an absolute http or https URL
        types: Types of notices, such as `approval.requested`; all of them, without it

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        conflict, payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {"url": url}
        body.update(given({"types": types}))
        answer: MadeWebhook = self._send(
            Request(
                "POST",
                "/v1/webhooks",
                body=json_bytes(body),
            ),
            timeout_s,
        )
        return answer

    def remove_webhook(self, id: str, *, timeout_s: Optional[float] = None) -> RemovedWebhook:
        """Have somebody told no more.

        Takes the scope `admin`.

        id: `webhook_id` of the webhook

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        webhook_not_found, payload_too_large, internal, ledger_unavailable.
        """
        answer: RemovedWebhook = self._send(
            Request(
                "DELETE",
                f"/v1/webhooks/{in_path(id)}",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_webhook_deliveries(
        self,
        *,
        webhook_id: Optional[str] = None,
        state: Optional[Literal["pending", "delivered", "dead"]] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> DeliveryPage:
        """List what was posted, and how far it has come.

        Takes the scope `admin`.

        webhook_id: Deliveries to this webhook
        state: Deliveries in this state
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: DeliveryPage = self._send(
            Request(
                "GET",
                "/v1/webhooks:deliveries",
                query={"webhook_id": webhook_id, "state": state, "limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_webhook_deliveries(
        self,
        *,
        webhook_id: Optional[str] = None,
        state: Optional[Literal["pending", "delivered", "dead"]] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Delivery]:
        """List what was posted, and how far it has come.

        All of them, page after page.

        Takes the scope `admin`.

        webhook_id: Deliveries to this webhook
        state: Deliveries in this state
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_webhook_deliveries(
                webhook_id=webhook_id,
                state=state,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def list_audit(
        self,
        *,
        principal: Optional[str] = None,
        action: Optional[str] = None,
        execution_id: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> AuditPage:
        """List the tenant's audit records, newest first.

        Takes the scope `audit:read`.

        principal: Records about what this principal did
        action: Records of this action, such as `call.denied`
        execution_id: Records about this call
        from_: Records of this instant or later
        to: Records before this instant
        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: AuditPage = self._send(
            Request(
                "GET",
                "/v1/audit",
                query={
                    "principal": principal,
                    "action": action,
                    "execution_id": execution_id,
                    "from": from_,
                    "to": to,
                    "limit": limit,
                    "cursor": cursor,
                },
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_audit(
        self,
        *,
        principal: Optional[str] = None,
        action: Optional[str] = None,
        execution_id: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[AuditRecord]:
        """List the tenant's audit records, newest first.

        All of them, page after page.

        Takes the scope `audit:read`.

        principal: Records about what this principal did
        action: Records of this action, such as `call.denied`
        execution_id: Records about this call
        from_: Records of this instant or later
        to: Records before this instant
        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_audit(
                principal=principal,
                action=action,
                execution_id=execution_id,
                from_=from_,
                to=to,
                limit=limit,
                cursor=cursor,
                timeout_s=timeout_s,
            )
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def verify_audit(self, *, timeout_s: Optional[float] = None) -> AuditVerdict:
        """Check that nobody changed the audit.

        Takes the scope `audit:read`.

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        payload_too_large, internal, ledger_unavailable.
        """
        body: Dict[str, Any] = {}
        answer: AuditVerdict = self._send(
            Request(
                "POST",
                "/v1/audit:verify",
                body=json_bytes(body),
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def list_workers(
        self,
        *,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        timeout_s: Optional[float] = None,
    ) -> WorkerPage:
        """List connected workers.

        Takes the scope `calls:read`.

        limit: Items on one page; more than 100 counts as 100
        cursor: Where the page begins: `next_cursor` of the page before; opaque

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: WorkerPage = self._send(
            Request(
                "GET",
                "/v1/workers",
                query={"limit": limit, "cursor": cursor},
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def iter_workers(
        self,
        *,
        limit: Optional[int] = None,
        timeout_s: Optional[float] = None,
    ) -> Iterator[Worker]:
        """List connected workers.

        All of them, page after page.

        Takes the scope `calls:read`.

        limit: Items on one page; more than 100 counts as 100

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        cursor: Optional[str] = None
        while True:
            page = self.list_workers(limit=limit, cursor=cursor, timeout_s=timeout_s)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = page["next_cursor"]

    def get_status(self, *, timeout_s: Optional[float] = None) -> RuntimeStatus:
        """Read the runtime's own state.

        Takes the scope `calls:read`.

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: RuntimeStatus = self._send(
            Request(
                "GET",
                "/v1/status",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def get_health(self, *, timeout_s: Optional[float] = None) -> Health:
        """Ask whether the process answers.

        Raises SignalboxError: internal.
        """
        answer: Health = self._send(
            Request(
                "GET",
                "/healthz",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def get_readiness(self, *, timeout_s: Optional[float] = None) -> Readiness:
        """Ask whether calls are taken.

        Raises SignalboxError: internal.
        """
        answer: Readiness = self._send(
            Request(
                "GET",
                "/readyz",
                repeatable=True,
                accepts=(503,),
            ),
            timeout_s,
        )
        return answer

    def get_metrics(self, *, timeout_s: Optional[float] = None) -> str:
        """Read the runtime's measures.

        Without a credential where the runtime listens on a loopback address only; elsewhere it takes the
        scope `usage:read`.

        Raises SignalboxError: invalid_input, unauthenticated, token_expired, key_revoked, forbidden,
        internal, ledger_unavailable.
        """
        answer: str = self._send(
            Request(
                "GET",
                "/metrics",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

    def get_open_api(self, *, timeout_s: Optional[float] = None) -> Dict[str, Any]:
        """Read this document.

        The same bytes as long as the runtime's version is the same.

        Raises SignalboxError: internal.
        """
        answer: Dict[str, Any] = self._send(
            Request(
                "GET",
                "/openapi.json",
                repeatable=True,
            ),
            timeout_s,
        )
        return answer

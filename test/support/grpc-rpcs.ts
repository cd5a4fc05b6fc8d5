// The rpcs for callers as the proto files have them: which stands for which REST route.
import { getOption } from "@bufbuild/protobuf";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Admin } from "@signalbox/protocol/v1/admin";
import { Agents } from "@signalbox/protocol/v1/agents";
import { Approvals } from "@signalbox/protocol/v1/approvals";
import { route } from "@signalbox/protocol/v1/options";
import { Policies } from "@signalbox/protocol/v1/policies";
import { Registry } from "@signalbox/protocol/v1/registry";
import { Sessions } from "@signalbox/protocol/v1/sessions";
import { ToolRuntime } from "@signalbox/protocol/v1/tool_runtime";

export const callerServices: readonly DescService[] = [ToolRuntime, Approvals, Policies, Registry, Agents, Sessions, Admin];

export interface FoundRpc {
  readonly method: DescMethod;
  /** Fields of the request that stand in the path. */
  readonly params: Readonly<Record<string, string>>;
}

const table = callerServices.flatMap(({ methods }) =>
  methods.flatMap((method) => {
    const written = getOption(method, route);
    const [verb = "", path = ""] = written.split(" ");
    const pattern = new RegExp(`^${path.replaceAll(/\{([a-z_]+)\}/g, "(?<$1>[^/]+)")}$`);
    return written === "" ? [] : [{ verb, pattern, method }];
  }),
);

/** @throws Error when there is none, or more than one */
export function rpcFor(verb: string, path: string): FoundRpc {
  const found = table.flatMap(({ verb: own, pattern, method }) => {
    const match = own === verb ? pattern.exec(path) : null;
    return match === null ? [] : [{ method, params: { ...match.groups } }];
  });
  const [only, ...more] = found;
  if (only === undefined || more.length > 0) throw new Error(`${found.length} rpcs stand for ${verb} ${path}`);
  return {
    method: only.method,
    params: Object.fromEntries(Object.entries(only.params).map(([name, text]) => [name, decodeURIComponent(text)])),
  };
}

export const nameOf = (method: DescMethod): string => `${method.parent.name}.${method.name}`;

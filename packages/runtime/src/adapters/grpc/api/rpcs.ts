// Every rpc for callers, with the REST route that it stands for: one set of handlers, two doors.
import { getOption } from "@bufbuild/protobuf";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { Admin } from "@signalbox/protocol/v1/admin";
import { Agents } from "@signalbox/protocol/v1/agents";
import { Approvals } from "@signalbox/protocol/v1/approvals";
import { route as routeOption, variant_of } from "@signalbox/protocol/v1/options";
import { Policies } from "@signalbox/protocol/v1/policies";
import { Registry } from "@signalbox/protocol/v1/registry";
import { Sessions } from "@signalbox/protocol/v1/sessions";
import { ToolRuntime } from "@signalbox/protocol/v1/tool_runtime";
import { limits } from "@signalbox/protocol";
import type { GuardedRoute } from "../../http/routes/route.ts";
import { routeTable } from "../../http/routes/table.ts";
import { apiLimits } from "./limits.ts";
import { planOf } from "./plan.ts";
import type { MessagePlan } from "./plan.ts";

export interface Rpc {
  readonly service: string;
  /** `Service.Rpc`. */
  readonly name: string;
  readonly path: string;
  readonly kind: DescMethod["methodKind"];
  readonly input: MessagePlan;
  readonly output: MessagePlan;
  readonly route: GuardedRoute;
  /** It is another way into a route that has an rpc of its own. */
  readonly variant: boolean;
  /** Field of the request → parameter of the route's path. */
  readonly params: ReadonlyMap<string, string>;
  /** Of one request message. */
  readonly bytesMax: number;
}

export const services: readonly DescService[] = [ToolRuntime, Approvals, Policies, Registry, Agents, Sessions, Admin];

const braces = /\{([a-z_]+)\}/g;

const guarded = routeTable.flatMap((route) => (route.scope === null ? [] : [route]));
const routes = new Map(guarded.map((route) => [shapeOf(`${route.method} ${inBraces(route.path)}`), route]));

/** @throws Error when the module is loaded, if an rpc names no route */
export const rpcs: readonly Rpc[] = services.flatMap((service) => service.methods.map(rpcOf));

function rpcOf(method: DescMethod): Rpc {
  const own = getOption(method, routeOption);
  const written = own === "" ? getOption(method, variant_of) : own;
  const route = routes.get(shapeOf(written));
  if (route === undefined) throw new Error(`${method.toString()}: there is no route "${written}"`);
  const { name: service, typeName } = method.parent;
  return {
    service,
    name: `${service}.${method.name}`,
    path: `/${typeName}/${method.name}`,
    kind: method.methodKind,
    input: planOf(method.input),
    output: planOf(method.output),
    route,
    variant: own === "",
    params: paramsOf(written, route),
    bytesMax: bytesMaxOf(route),
  };
}

/** `/v1/keys/:id` → `/v1/keys/{id}`; two colons stand for one. */
function inBraces(path: string): string {
  return path.replaceAll(/::|:([a-z_]+)/g, (_, name: string | undefined) => (name === undefined ? ":" : `{${name}}`));
}

/** Names of parameters make no difference. */
function shapeOf(written: string): string {
  return written.replaceAll(braces, "{}");
}

function paramsOf(written: string, route: GuardedRoute): ReadonlyMap<string, string> {
  const fields = Array.from(written.matchAll(braces), ([, name = ""]) => name);
  const names = Array.from(inBraces(route.path).matchAll(braces), ([, name = ""]) => name);
  return new Map(fields.map((field, place) => [field, names[place] ?? ""]));
}

function bytesMaxOf(route: GuardedRoute): number {
  if (route.body === "manifest") return limits.manifestBytesMax + apiLimits.envelopeBytesMax;
  // A piece of a file is as large as a body may be, beside its tag and length.
  return route.body === "stream" ? limits.bodyBytesMax + apiLimits.envelopeBytesMax : limits.bodyBytesMax;
}

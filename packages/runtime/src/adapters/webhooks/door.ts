// Posts to webhooks: looks the name up itself, refuses addresses that are not public, and dials only what it has checked.
import { createHmac } from "node:crypto";
import { lookup } from "node:dns/promises";
import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { WebhookAnswer, WebhookDoor, WebhookPost } from "../../corridor/webhook-ports.ts";
import { isPublicAddress } from "./addresses.ts";

export interface WebhookDoorOptions {
  /** Of this runtime; told to receivers. */
  readonly version: string;
  /** Also dials loopback and private networks; for receivers on a developer's machine. */
  readonly allowPrivate: boolean;
  /** All addresses of a name; the system's resolver unless given. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

/** An answer's body says nothing to us; this much is read, so that a polite receiver sees its answer taken. */
const answerBytesMax = 4 * 1024;
const answerHeaderBytesMax = 16 * 1024;
/** More than these of one name are not tried; guards against a name with thousands of records. */
const addressesMax = 16;

const howToAllow = "start the runtime with --allow-private-webhooks if it is meant";

export function webhookDoor(options: WebhookDoorOptions): WebhookDoor {
  return {
    async send(post) {
      try {
        const url = new URL(post.url);
        const addresses = await orAborted(addressesOf(url.hostname, options), post.signal);
        return await exchange(url, post, addresses, `signalbox/${options.version}`);
      } catch (error) {
        return { status: null, error: wordsFor(error, post) };
      }
    },
    hostProblem(hostname) {
      if (options.allowPrivate) return undefined;
      const host = bare(hostname);
      if (host === "localhost" || host.endsWith(".localhost")) return `${host} is this machine and not a public address; ${howToAllow}`;
      return isIP(host) !== 0 && !isPublicAddress(host) ? notPublic(host) : undefined;
    },
    sign: (keyBase64, text) => createHmac("sha256", Buffer.from(keyBase64, "base64")).update(text, "utf8").digest("base64"),
  };
}

/** Refusals of our own; their words are shown as they are. */
class Refused extends Error {}

/**
 * One address that is not public is enough to refuse the name: it is a mistake, or somebody tries.
 * @throws Refused
 */
async function addressesOf(hostname: string, options: WebhookDoorOptions): Promise<readonly string[]> {
  const host = bare(hostname);
  const all = isIP(host) === 0 ? await (options.resolve ?? resolveBySystem)(host) : [host];
  if (all.length === 0) throw new Refused(`the name ${host} has no address`);
  const inward = options.allowPrivate ? undefined : all.find((address) => !isPublicAddress(address));
  if (inward !== undefined) throw new Refused(inward === host ? notPublic(host) : `${host} is at ${notPublic(inward)}`);
  return all.slice(0, addressesMax);
}

async function resolveBySystem(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

const notPublic = (address: string): string => `${address}, which is not a public address; ${howToAllow}`;

/** `[::1]` as `::1`, and `example.com.` as `example.com`. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

function exchange(url: URL, post: WebhookPost, addresses: readonly string[], userAgent: string): Promise<WebhookAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<WebhookAnswer>();
  const options: RequestOptions = {
    method: "POST",
    headers: { ...post.headers, "content-length": Buffer.byteLength(post.body), "user-agent": userAgent },
    // A connection of its own: a kept one might lead to an address that was checked for another name, or long ago.
    agent: false,
    lookup: pinned(addresses),
    maxHeaderSize: answerHeaderBytesMax,
    signal: post.signal,
  };
  const request: ClientRequest = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, options);
  let answer: WebhookAnswer | undefined;
  // The status stands from the first line on, however the rest of the answer ends.
  request.on("error", (error) => (answer === undefined ? reject(error) : resolve(answer)));
  // Nobody asked for another protocol.
  request.on("upgrade", (response, socket) => {
    socket.destroy();
    resolve(answerOf(response));
  });
  request.on("response", (response) => {
    const told = (answer = answerOf(response));
    readSome(response, () => {
      resolve(told);
      request.destroy();
    });
  });
  request.end(post.body);
  return promise;
}

function answerOf(response: IncomingMessage): WebhookAnswer {
  return { status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] ?? null };
}

function readSome(response: IncomingMessage, done: () => void): void {
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes >= answerBytesMax) done();
  });
  response.on("error", done);
  response.on("close", done);
}

/** Answers every question with the addresses that were checked; a name whose records change in between changes nothing. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, { all: wantsAll }, callback) => {
    const [first] = all;
    if (wantsAll === true || first === undefined) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

/** A look-up cannot be called off; it is left behind. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const words: Readonly<Record<string, string>> = {
  ENOTFOUND: "the name is not known",
  EAI_AGAIN: "the name cannot be looked up at the moment",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed without an answer",
  EPIPE: "the connection was closed without an answer",
  ETIMEDOUT: "the address does not answer",
  EHOSTUNREACH: "the address cannot be reached",
  ENETUNREACH: "the address cannot be reached",
  HPE_HEADER_OVERFLOW: "the answer's headers are too large",
};

const badCertificate = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT_)/;

/** For people; the url is not in it, for its path may be a secret. */
function wordsFor(error: unknown, { signal }: WebhookPost): string {
  if (signal.aborted) return signal.reason instanceof Error ? signal.reason.message : "the attempt was called off";
  if (error instanceof Refused) return error.message;
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === undefined) return "the attempt failed";
  if (badCertificate.test(code)) return `the certificate is not trusted (${code})`;
  return words[code] === undefined ? `no answer (${code})` : `${words[code]} (${code})`;
}

// What the bench asks of its load process, and what it hears back, as plain data.

/** A POST request over HTTP/1.1, the same every time. */
export interface HttpDoor {
  readonly via: "http";
  /** `http://host:port`, without a path. */
  readonly origin: string;
  /** More places that take the same calls; the connections are spread over all of them. */
  readonly moreOrigins?: readonly string[];
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Text that every good answer contains; an answer without it is an error. */
  readonly expect: string;
}

/** A call of a tool over gRPC, the same every time; a good answer is a call that succeeded. */
export interface GrpcDoor {
  readonly via: "grpc";
  /** One rpc a call, or all of them on one stream. */
  readonly rpc: "Invoke" | "InvokeMany";
  /** `host:port`. */
  readonly address: string;
  readonly key: string;
  readonly tool: string;
  readonly version: string;
  readonly inputJson: string;
}

export interface SliceRequest {
  readonly door: HttpDoor | GrpcDoor;
  /** Calls in flight at any time. */
  readonly concurrency: number;
  readonly warmUpMs: number;
  /** Where the measured part ends: after a time, or after so many calls. */
  readonly until: { readonly durationMs: number } | { readonly calls: number };
  /** The process whose CPU time is read around the measured part. */
  readonly pid?: number;
}

export interface SliceResult {
  /** Good answers in the measured part. */
  readonly calls: number;
  readonly errors: number;
  /** Error code → how often. */
  readonly errorCodes: Readonly<Record<string, number>>;
  readonly elapsedMs: number;
  readonly callsPerSecond: number;
  /** Exact percentiles of the good answers, µs; undefined when there were none. */
  readonly p50Us?: number;
  readonly p95Us?: number;
  readonly p99Us?: number;
  readonly maxUs?: number;
  /** User and system time of `pid` over the measured part, µs. */
  readonly cpuUs?: number;
}

/** `go` starts the measured part, so that the bench can read counters while nothing is in flight. */
export type ToLoad = { readonly type: "slice"; readonly request: SliceRequest } | { readonly type: "go" };

export type FromLoad =
  | { readonly type: "warm" }
  | { readonly type: "result"; readonly result: SliceResult }
  | { readonly type: "failed"; readonly message: string };

// Makes one Python method of each operation of the document, and two more where it has pages or a stream.
// @ts-check
import { nameOf } from "./models.js";
import { docstring, listed, mapping, pascal, quoted, snake, variable } from "./words.js";

/** @typedef {import("./models.js").Schema} Schema */
/** @typedef {import("./models.js").Models} Models */
/** @typedef {{ readonly path: string, readonly method: string, readonly operation: Schema }} Place */

/**
 * One parameter of a method.
 * @typedef {{
 *   readonly name: string,
 *   readonly wire: string,
 *   readonly type: string,
 *   readonly place: "path" | "query" | "header" | "body" | "document" | "content",
 *   readonly required: boolean,
 *   readonly nullable: boolean,
 *   readonly standard: number | undefined,
 *   readonly description: string,
 * }} Parameter
 */

const json = "application/json";
const events = "text/event-stream";

/**
 * @param {Schema} document
 * @param {Models} models
 * @returns {readonly string[]} the methods as text, in the document's order
 */
export function methods(document, models) {
  const places = Object.entries(document["paths"]).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return places.flatMap((place) => {
    const method = new Method(document, models, place);
    return [method.plain(), method.iterator(), method.stream()].filter((text) => text !== undefined);
  });
}

class Method {
  #document;
  #models;
  #place;
  /** @type {readonly Parameter[]} */
  #parameters;
  #answers;

  /**
   * @param {Schema} document
   * @param {Models} models
   * @param {Place} place
   */
  constructor(document, models, place) {
    this.#document = document;
    this.#models = models;
    this.#place = place;
    this.#parameters = this.#readParameters();
    /** @type {(readonly [status: number, response: Schema])[]} */
    const answers = Object.entries(place.operation["responses"]).map(([status, response]) => [
      Number(status),
      this.#resolved(response),
    ]);
    this.#answers = answers.filter(([, response]) => response["x-error-codes"] === undefined);
  }

  /** Sends a request and returns its answer; undefined where the answer is a stream and nothing else. */
  plain() {
    const type = this.#answerType();
    if (type === undefined) return undefined;
    const parameters = this.#parameters.filter(({ wire }) => !this.#asksForStream(wire));
    const told = type !== "None";
    return this.#method(this.#name(), parameters, type, [
      ...this.#bodyLines(parameters),
      `${told ? `answer: ${type} = ` : ""}self._send(`,
      ...this.#requestLines(parameters, this.#extras()).map((line) => `    ${line}`),
      "    timeout_s,",
      ")",
      ...(told ? ["return answer"] : []),
    ]);
  }

  /** Asks for one page after the other; undefined for what has no pages. */
  iterator() {
    const page = this.#pageSchema();
    if (page === undefined) return undefined;
    const [next, cursor] =
      page["next_cursor"] === undefined ? ["next_after_seq", "after_seq"] : ["next_cursor", "cursor"];
    if (!this.#parameters.some(({ wire }) => wire === cursor)) return undefined;
    const item = this.#models.type(page["items"]["items"], "Item");
    const passed = this.#parameters.filter(({ name }) => name !== cursor);
    const call = [...this.#parameters.map(({ name }) => `${name}=${name}`), "timeout_s=timeout_s"];
    const parameters = cursor === "cursor" ? passed : this.#parameters;
    const start = cursor === "cursor" ? ["cursor: Optional[str] = None"] : [];
    return this.#method(
      `iter_${this.#name().replace(/^list_/, "")}`,
      parameters,
      `Iterator[${item}]`,
      [
        ...start,
        "while True:",
        ...listed(`page = self.${this.#name()}(`, call, ")", 12).map((line) => `    ${line}`),
        '    yield from page["items"]',
        `    if page[${quoted(next)}] is None:`,
        "        return",
        `    ${cursor} = page[${quoted(next)}]`,
      ],
      "All of them, page after page.",
    );
  }

  /** Follows a call; undefined for what is no stream. */
  stream() {
    const streams = this.#answers.some(([, { content = {} }]) => content[events] !== undefined);
    if (!streams) return undefined;
    const alone = this.#answerType() === undefined;
    const own = this.#parameters.filter(
      ({ wire }) => wire !== "Last-Event-ID" && wire !== "mode" && !this.#asksForStream(wire),
    );
    const body = this.#bodyLines(own);
    const after = own.some(({ wire }) => wire === "after_seq") ? "after_seq or 0" : "0";
    return this.#method(
      alone ? this.#name() : `${this.#name()}_stream`,
      own,
      "Iterator[StreamEvent]",
      [
        ...body,
        ...(body.length === 0 ? [] : ['body["stream"] = True']),
        "request = Request(",
        ...this.#requestArguments(own, this.#extras()).map((line) => `    ${line}`),
        ")",
        `return self._follow(request, ${after}, ${alone ? "request" : "None"})`,
      ],
      "Comes back by itself for what it missed where a connection breaks; the last event is `done` or `error`.",
      false,
    );
  }

  #name() {
    return snake(this.#place.operation["operationId"]);
  }

  /** @param {Schema} part */
  #resolved(part) {
    const reference = part["$ref"];
    if (reference === undefined) return part;
    const steps = String(reference).replace("#/", "").split("/");
    return steps.reduce((/** @type {Schema} */ here, step) => here[step], this.#document);
  }

  /** The field that turns the answer into a stream is the method's own business. @param {string} wire */
  #asksForStream(wire) {
    return wire === "stream" && this.#place.operation["operationId"] === "invoke";
  }

  /** @returns {readonly Parameter[]} */
  #readParameters() {
    const { operation, path } = this.#place;
    const body = this.#bodyParameters();
    const inBody = new Set(body.map(({ name }) => name));
    const parameters = operation["parameters"]
      // What every operation takes is no parameter of each.
      .filter((/** @type {Schema} */ one) => one["$ref"] === undefined)
      .map((/** @type {Schema} */ one) =>
        this.#parameter(one["name"], one["schema"], one["in"], one["required"] === true, one["description"]),
      )
      .filter((/** @type {Parameter} */ { name, place }) => place !== "header" || !inBody.has(name));
    const names = parameters.map((/** @type {Parameter} */ { name }) => name);
    if (new Set([...names, ...inBody]).size !== names.length + inBody.size)
      throw new Error(`${path}: two parameters have one name: ${[...names, ...inBody].join(", ")}`);
    return [...parameters, ...body];
  }

  /** @returns {readonly Parameter[]} */
  #bodyParameters() {
    const content = this.#place.operation["requestBody"]?.content;
    if (content === undefined) return [];
    if (content["application/octet-stream"] !== undefined)
      return [
        { ...fixed, name: "content", wire: "", type: "bytes", place: "content", description: "The content itself" },
      ];
    const reference = content[json].schema;
    const schema = this.#resolved(reference);
    if (schema["properties"] === undefined)
      return [
        {
          ...fixed,
          name: "document",
          wire: "",
          type: "Union[str, Mapping[str, Any]]",
          place: "document",
          description: "YAML or JSON as text, or data",
        },
      ];
    const required = new Set(schema["required"] ?? []);
    return Object.entries(schema["properties"]).map(([wire, one]) =>
      this.#parameter(
        wire,
        one,
        "body",
        required.has(wire),
        one["description"] ?? this.#resolved(one)["description"],
        nameOf(reference),
      ),
    );
  }

  /**
   * @param {string} wire
   * @param {Schema} schema
   * @param {Parameter["place"]} place
   * @param {boolean} required
   * @param {string} description
   * @param {string} [owner] the type whose field it is
   * @returns {Parameter}
   */
  #parameter(wire, schema, place, required, description, owner = pascal(this.#place.operation["operationId"])) {
    const type = this.#models.type(schema, `${owner}${pascal(wire)}`);
    const nullable = type === "Any" || type.startsWith("Optional[");
    return { name: variable(wire), wire, type, place, required, nullable, description, standard: schema["default"] };
  }

  /** Undefined: a stream and nothing else. */
  #answerType() {
    const contents = this.#answers.flatMap(([, { content = {} }]) => Object.entries(content));
    const told = contents.filter(([type]) => type !== events);
    const types = new Set(
      told.map(([type, { schema }]) => (type === json ? this.#models.type(schema, "Answer") : "str")),
    );
    if (types.size > 1) throw new Error(`${this.#place.path} has answers of several types: ${[...types].join(", ")}`);
    return contents.length === 0 ? "None" : [...types][0];
  }

  #pageSchema() {
    const [, response] = this.#answers.find(([status]) => status === 200) ?? [];
    const schema = response?.["content"]?.[json]?.schema;
    const properties = schema === undefined ? {} : (this.#resolved(schema)["properties"] ?? {});
    const paged = properties["next_cursor"] !== undefined || properties["next_after_seq"] !== undefined;
    return properties["items"] !== undefined && paged ? properties : undefined;
  }

  #isKeyed() {
    return this.#place.operation["parameters"].some((/** @type {Schema} */ { name }) => name === "Idempotency-Key");
  }

  /** What the transport has to know beside the request. */
  #extras() {
    const { method, operation } = this.#place;
    const repeatable = method !== "POST" || this.#isKeyed() || operation["x-repeatable"] === true;
    const accepts = this.#answers.map(([status]) => status).filter((status) => status >= 300 && status !== 304);
    return [
      ...(repeatable ? ["repeatable=True,"] : []),
      ...(this.#isKeyed() ? ['idempotency_key=body["idempotency_key"],', "record_is_final=True,"] : []),
      ...(accepts.length === 0 ? [] : [`accepts=(${accepts.join(", ")},),`]),
    ];
  }

  /** @param {readonly Parameter[]} parameters */
  #bodyLines(parameters) {
    const [document] = parameters.filter(({ place }) => place === "document");
    if (document !== undefined) return ["body, content_type = document_body(document)"];
    const inBody = parameters.filter(({ place }) => place === "body");
    const { requestBody } = this.#place.operation;
    if (requestBody?.content[json] === undefined) return [];
    const must = inBody.filter(({ required }) => required);
    const may = inBody.filter(
      ({ required, nullable, wire }) => !required && !nullable && !(wire === "idempotency_key" && this.#isKeyed()),
    );
    const open = inBody.filter(({ required, nullable }) => !required && nullable);
    return [
      ...statement("body: Dict[str, Any] = ", must, ""),
      ...(may.length === 0 ? [] : statement("body.update(given(", may, "))")),
      ...(open.length === 0 ? [] : statement("body.update(present(", open, "))")),
      ...(this.#isKeyed()
        ? ['body["idempotency_key"] = new_key() if idempotency_key is None else idempotency_key']
        : []),
    ];
  }

  /**
   * @param {readonly Parameter[]} parameters
   * @param {readonly string[]} extras
   */
  #requestLines(parameters, extras) {
    return ["Request(", ...this.#requestArguments(parameters, extras).map((line) => `    ${line}`), "),"];
  }

  /**
   * @param {readonly Parameter[]} parameters
   * @param {readonly string[]} extras
   */
  #requestArguments(parameters, extras) {
    const { method, path, operation } = this.#place;
    const of = (/** @type {Parameter["place"]} */ place) => parameters.filter((one) => one.place === place);
    const target = path.replaceAll(/\{([^}]+)\}/g, (_, name) => `{in_path(${variable(name)})}`);
    const headers = of("header").map(({ wire, name, type }) => {
      if (type !== "str") throw new Error(`${operation["operationId"]}: the header ${wire} is no text`);
      return `${quoted(wire)}: ${name}`;
    });
    const body = of("content").length > 0 ? "content" : of("document").length > 0 ? "body" : "json_bytes(body)";
    const waits = parameters.find(({ wire }) => wire === "wait_ms");
    return [
      `${quoted(method)},`,
      `${target === path ? "" : "f"}${quoted(target)},`,
      ...(of("query").length === 0 ? [] : statement("query=", of("query"), ",")),
      ...(headers.length === 0 ? [] : [`headers={${headers.join(", ")}},`]),
      ...(operation["requestBody"] === undefined ? [] : [`body=${body},`]),
      ...(of("document").length > 0 ? ["content_type=content_type,"] : []),
      ...(of("content").length > 0 ? ['content_type="application/octet-stream",'] : []),
      ...(waits === undefined
        ? []
        : [`wait_s=(${waits.standard ?? 0} if wait_ms is None else wait_ms) / 1000,`]),
      ...extras,
    ];
  }

  /**
   * @param {string} name
   * @param {readonly Parameter[]} parameters
   * @param {string} returns
   * @param {readonly string[]} lines
   * @param {string} [more] what this method does beside the operation
   * @param {boolean} [timed] takes a time-out of its own
   */
  #method(name, parameters, returns, lines, more, timed = true) {
    const positional = parameters.filter(
      ({ place }) => place === "path" || place === "content" || place === "document",
    );
    const named = parameters
      .filter((one) => !positional.includes(one))
      .toSorted((a, b) => Number(b.required) - Number(a.required) || order.indexOf(a.place) - order.indexOf(b.place));
    const written = [
      "self",
      ...positional.map(signature),
      ...(named.length > 0 || timed ? ["*"] : []),
      ...named.map(signature),
      ...(timed ? ["timeout_s: Optional[float] = None"] : []),
    ];
    const head = listed(`def ${name}(`, written, `) -> ${returns}:`, 4).map((line) => `    ${line}`);
    return [...head, this.#about([...positional, ...named], more), ...lines.map((line) => `        ${line}`)].join(
      "\n",
    );
  }

  /**
   * @param {readonly Parameter[]} parameters
   * @param {string | undefined} more
   */
  #about(parameters, more) {
    const { summary, description, responses } = this.#place.operation;
    const told = parameters.map(({ name, description: said }) => `${name}: ${said}`);
    const codes = Object.values(responses).flatMap((response) => this.#resolved(response)["x-error-codes"] ?? []);
    return docstring(
      [
        `${summary}.`,
        ...(more === undefined ? [] : [more]),
        ...(description === undefined ? [] : String(description).split("\n\n")),
        ...(told.length === 0 ? [] : [told]),
        `Raises SignalboxError: ${codes.join(", ")}.`,
      ],
      "        ",
    );
  }
}

const fixed = { required: true, nullable: false, standard: undefined };

/** In the order in which people look for them. */
const order = ["body", "query", "header"];

/**
 * @param {string} before
 * @param {readonly Parameter[]} parameters
 * @param {string} after
 */
function statement(before, parameters, after) {
  const pairs = parameters.map(({ wire, name }) => /** @type {const} */ ([wire, name]));
  // Of the deepest of its uses.
  const [first = "", ...rest] = mapping(pairs, before.length + after.length + 16);
  const lines = [before + first, ...rest];
  return [...lines.slice(0, -1), `${lines.at(-1)}${after}`];
}

/** @param {Parameter} parameter */
function signature({ name, type, required, nullable }) {
  if (required) return `${name}: ${type}`;
  return nullable ? `${name}: Union[${type}, Omitted] = OMIT` : `${name}: Optional[${type}] = None`;
}

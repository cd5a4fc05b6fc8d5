// `npm run generate:python [-- --into <folder>]`: makes the Python client's types and methods from docs/openapi.json.
// @ts-check
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Models } from "./python-client/models.js";
import { methods } from "./python-client/operations.js";
import { comment, docstring, quoted } from "./python-client/words.js";

const kept = fileURLToPath(new URL("../clients/python/signalbox_client", import.meta.url));
const documentFile = fileURLToPath(new URL("../docs/openapi.json", import.meta.url));
const { values } = parseArgs({ options: { into: { type: "string", default: kept } } });

const document = JSON.parse(readFileSync(documentFile, "utf8"));
const models = new Models(document.components.schemas);
const made = methods(document, models);

const warning = "# Made from docs/openapi.json by `npm run generate:python`; changes here are lost.";

/** @param {string} text the names of types that it speaks of */
const used = (text) => [...new Set(text.match(/\b[A-Z]\w+\b/g) ?? [])].filter((name) => models.has(name)).sort();
/** @param {string} text */
const typing = (text) =>
  ["Any", "Dict", "Iterator", "List", "Literal", "Mapping", "Optional", "TypedDict", "Union"].filter((name) =>
    new RegExp(`\\b${name}\\b`).test(text),
  );

/** What stands outside of comments and docstrings. @param {string} text */
const code = (text) => text.replaceAll(/"""[^]*?"""/g, "").replaceAll(/^\s*#.*$/gm, "");

const types = models.text();
writeFileSync(
  join(values.into, "models.py"),
  `${docstring(["What requests and answers hold."], "")}
${warning}

from __future__ import annotations

from typing import ${typing(code(types)).join(", ")}

${types}
`,
);

const body = made.join("\n\n");
const names = used(code(body));
writeFileSync(
  join(values.into, "client.py"),
  `${docstring(["One method for each operation of the API."], "")}
${warning}

from __future__ import annotations

from typing import ${typing(code(body)).join(", ")}

from .models import (
${names.map((name) => `    ${name},`).join("\n")}
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

${comment("The version of the runtime whose document this was made from.", "")}
API_VERSION = ${quoted(document.info.version)}


class Client(Transport):
${docstring([`${document.info.summary}, as its REST API has it.`, "Methods raise SignalboxError, and nothing else on purpose. A request that gets no answer is sent again where a second one has no second effect."], "    ")}

${body}
`,
);

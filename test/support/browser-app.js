// What the page of the browser tests does with the client, as an application would; the tests call `window.app`.
import { createClient, isOpen, SignalboxApiError } from "/app/client/index.js";

/** @param {string} url @param {string} key */
function connect(url, key) {
  const client = createClient({ url, key });
  const output = document.querySelector("output");
  return {
    async invoke(tool, input, options) {
      const { status, outputText, execution_id: id } = await client.invoke(tool, input, options);
      return { status, outputText, id };
    },
    async stream(tool, input) {
      const said = [];
      for await (const event of client.stream(tool, input))
        said.push(event.type === "stdout" ? `stdout ${event.data.text}` : event.type);
      return said;
    },
    /** Begins a call, stops it when it says something, and tells how it ended. */
    async stop(tool, input) {
      const call = await client.invoke(tool, input, { mode: "async" });
      for await (const event of client.follow(call.execution_id)) if (event.type === "stdout") break;
      await client.cancel(call.execution_id);
      return { open: isOpen(call), end: (await client.wait(call)).status };
    },
    /** Says yes to everything that waits, and tells what that was. */
    async approveAll() {
      const decided = [];
      for await (const { approval_id: id } of client.approvals.list({ mine: true })) {
        const { args_hash: argsHash } = await client.approvals.get(id);
        decided.push((await client.approvals.approve(id, { argsHash })).execution_id);
      }
      return decided;
    },
    async end(id) {
      return (await client.wait(id)).status;
    },
    /** Shows an error as a page would. */
    async fail(tool) {
      try {
        await client.invoke(tool, {}, { retry: { attemptsMax: 1 } });
      } catch (error) {
        if (!(error instanceof SignalboxApiError)) throw error;
        output.textContent = `${error.code} (${error.httpStatus}): ${error.message}`;
      }
    },
  };
}

window.app = { connect };

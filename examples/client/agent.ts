// Lets a model use governed tools; the model is a script here, in the shapes of a chat completion: node examples/client/agent.ts
import { createClient, loadModelTools, runToolCall, toOpenAiTools } from "@signalbox/client";
import type { OpenAiTool, OpenAiToolCall, OpenAiToolMessage } from "@signalbox/client";

const { SIGNALBOX_URL: url = "http://127.0.0.1:8080", SIGNALBOX_KEY: key = "" } = process.env;
const client = createClient({ url, key });
const messages: OpenAiToolMessage[] = [];

/** Stands for the provider: wants every tool that it is offered, and one that it made up. */
async function complete(offered: readonly OpenAiTool[]): Promise<readonly OpenAiToolCall[]> {
  const names = [...offered.map((tool) => tool.function.name), "send_money"];
  return names.map((name, index) => ({ id: `call_${index}`, function: { name, arguments: '{"message":"hi"}' } }));
}

// #region agent
const tools = await loadModelTools(client, ["echo"]);
const toolCalls = await complete(toOpenAiTools(tools));
for (const toolCall of toolCalls) messages.push(await runToolCall(client, tools, toolCall));
// #endregion agent

for (const { tool_call_id: id, content } of messages) console.log(id, content);

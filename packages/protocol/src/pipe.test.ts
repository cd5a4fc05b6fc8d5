// The in-memory Work stream: order, asynchrony, and how it closes.
import { expect, test } from "vitest";
import { createPipe } from "./pipe.ts";

const microtasks = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What one end hears, in order. */
function recorder(): { heard: string[]; message: (text: string) => void; closed: (reason: string) => void } {
  const heard: string[] = [];
  return { heard, message: (text) => void heard.push(text), closed: (reason) => void heard.push(`closed: ${reason}`) };
}

test("messages arrive in order, after the sender has gone on", async () => {
  const [worker, runtime] = createPipe<string, string>();
  const [atWorker, atRuntime] = [recorder(), recorder()];
  worker.listen(atWorker);
  runtime.listen(atRuntime);
  worker.send("a");
  worker.send("b");
  runtime.send("c");
  expect([atRuntime.heard, atWorker.heard]).toEqual([[], []]);
  await microtasks();
  expect([atRuntime.heard, atWorker.heard]).toEqual([["a", "b"], ["c"]]);
});

test("an end that listens late hears what was sent before", async () => {
  const [worker, runtime] = createPipe<string, string>();
  worker.send("a");
  worker.close("bye");
  await microtasks();
  const atRuntime = recorder();
  runtime.listen(atRuntime);
  await microtasks();
  expect(atRuntime.heard).toEqual(["a", "closed: bye"]);
});

test("close: what was sent still arrives, the closer hears no more, both hear it once", async () => {
  const [worker, runtime] = createPipe<string, string>();
  const [atWorker, atRuntime] = [recorder(), recorder()];
  worker.listen(atWorker);
  runtime.listen(atRuntime);
  runtime.send("too late");
  worker.send("last");
  worker.close("first reason");
  worker.send("after");
  worker.close("second reason");
  runtime.send("after");
  await microtasks();
  runtime.close("third reason");
  await microtasks();
  expect(atRuntime.heard).toEqual(["last", "closed: first reason"]);
  expect(atWorker.heard).toEqual(["closed: first reason"]);
});

test("messages sent while one is being heard come after it", async () => {
  const [worker, runtime] = createPipe<number, number>();
  const heard: number[] = [];
  runtime.listen({ message: (n) => (heard.push(n), n < 3 && runtime.send(n)), closed: () => {} });
  worker.listen({ message: (n) => worker.send(n + 1), closed: () => {} });
  worker.send(1);
  await microtasks();
  expect(heard).toEqual([1, 2, 3]);
});

test("an end that never listens does not fill the memory", async () => {
  const [worker, runtime] = createPipe<number, number>();
  const atWorker = recorder();
  worker.listen({ message: () => {}, closed: atWorker.closed });
  for (let n = 0; n <= 65_536; n++) worker.send(n);
  await microtasks();
  expect(atWorker.heard).toEqual(["closed: 65536 messages wait unread at the other end"]);
  runtime.send(1); // nobody to hear it, and no error
});

test("a stream is listened to once", () => {
  const [worker] = createPipe<number, number>();
  worker.listen(recorder() as never);
  expect(() => worker.listen(recorder() as never)).toThrow("a stream is listened to once");
});

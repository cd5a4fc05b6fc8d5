// What a worker that connects may hold from another replica is taken over before anything that it says is heard.
import type { RuntimeMessage, WorkerMessage, WorkStream } from "@signalbox/protocol";
import type { WorkerIdentity } from "../dispatch/types.ts";
import type { Companions } from "./driver-ports.ts";

interface Door {
  readonly hear: (message: WorkerMessage) => void;
  readonly stream: Pick<WorkStream<WorkerMessage, RuntimeMessage>, "close">;
}

/** Hears a worker's messages in their order; nothing of one whose calls could not be taken over: it would be told to drop them. */
export function afterArrival(companions: Companions, identity: WorkerIdentity, { hear, stream }: Door): (message: WorkerMessage) => void {
  let arrived: Promise<void> | undefined;
  let waiting = 0;
  let refused = false;
  return (message) => {
    if (message.type === "register") {
      arrived = companions.arriving(identity, message).then((taken) => {
        if (taken) return;
        refused = true;
        stream.close("what this worker holds could not be taken over; it is to connect again");
      });
    }
    if (arrived === undefined) return hear(message);
    waiting++;
    arrived = arrived.then(() => {
      if (!refused) hear(message);
      if (--waiting === 0 && !refused) arrived = undefined;
    });
  };
}

// The text of a gRPC status: one line, of a length that every client takes.
import { cutText, wellFormed } from "@signalbox/protocol";

/** A status text is one line of bounded length in a header, and grpc-js cannot write ill-formed text. */
export function oneLine(text: string, charsMax: number): string {
  // eslint-disable-next-line no-control-regex
  return wellFormed(cutText(text, charsMax)).text.replace(/[\u0000-\u001f\u007f]+/g, " ");
}

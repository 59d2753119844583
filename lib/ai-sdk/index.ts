/** `@downcity/agent/ai-sdk`: a Session for clients made with the AI SDK, of version 6 or 7. */
import type { Session } from "../../index.js";
import { accept_stream, type ToldChunk, type UiMessageStreamOptions, UiStreamSource } from "./stream.js";
import type { UiMessageChunk } from "./ui-types.js";

export { to_ui_messages } from "./messages.js";
export { respond_from_ui, type UiAnswer, type UiAnswerInput, type UiResponses } from "./respond.js";
export type { UiMessageStreamOptions } from "./stream.js";
export type * from "./ui-types.js";

/** What an AI SDK client expects of the response. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-vercel-ai-ui-message-stream": "v1",
  // Proxies are asked not to hold it back.
  "x-accel-buffering": "no",
};

/**
 * A Turn as the UI message stream of an AI SDK client: with `turn`, from its beginning to its end; without it,
 * what runs now. It is read from the journal, so that a reader who comes late or again misses nothing and gets
 * nothing twice. Each assistant Message of the Turn begins with a `start` chunk that carries its id.
 *
 * Cancelling the stream, or not reading it, changes nothing for the Session. It fails when the Session's handle
 * ends before the Turn does, and with `INVALID_INPUT` for a Turn that is not known.
 * @throws SessionError `INVALID_INPUT`, `SESSION_CLOSED`
 */
export function to_ui_message_stream(
  session: Session,
  options?: UiMessageStreamOptions,
): ReadableStream<UiMessageChunk> {
  const source = new UiStreamSource(accept_stream(session, options, "to_ui_message_stream"));
  return new ReadableStream(source).pipeThrough(
    new TransformStream<ToldChunk, UiMessageChunk>({
      transform: ({ chunk }, controller) => controller.enqueue(chunk),
    }),
  );
}

/**
 * The same as a fetch Response of server-sent events. The `id` of an event is the revision that is complete
 * with it: what a browser sends back as `Last-Event-ID` is an `after_revision`. Without `turn` and
 * `after_revision`, and with no Turn in flight, it is an empty response of status 204, which tells a client that
 * there is nothing to resume.
 * @throws SessionError `INVALID_INPUT`, `SESSION_CLOSED`
 */
export function to_ui_response(session: Session, options?: UiMessageStreamOptions): Response {
  const accepted = accept_stream(session, options, "to_ui_response");
  const { turn_id, after_revision, active } = accepted;
  if (turn_id === undefined && after_revision === undefined && active === null) {
    return new Response(null, { status: 204 });
  }
  const encoder = new TextEncoder();
  const events = new TransformStream<ToldChunk, Uint8Array>({
    transform: ({ chunk, revision }, controller) => {
      const id = revision === undefined ? "" : `id: ${revision}\n`;
      controller.enqueue(encoder.encode(`${id}data: ${JSON.stringify(chunk)}\n\n`));
    },
    flush: (controller) => controller.enqueue(encoder.encode("data: [DONE]\n\n")),
  });
  const body = new ReadableStream(new UiStreamSource(accepted)).pipeThrough(events);
  return new Response(body, { headers: HEADERS });
}

/** The AI SDK as a client has it: version 6 here, 7 where the newer line is tested. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Session } from "@downcity/agent";
import { respond_from_ui, to_ui_response, type UiMessage, type UiMessageChunk } from "@downcity/agent/ai-sdk";
import type { UIMessage, UIMessageChunk } from "ai";
import { onTestFinished } from "vitest";
import { ai_package, is_newer, newer } from "./provider-lines.js";

export const UI_VERSION = is_newer ? 7 : 6;

type Ai = typeof import("ai");
type ChatClass = typeof import("@ai-sdk/react").Chat;

export async function ui_packages(): Promise<{ ai: Ai; Chat: ChatClass }> {
  const react = is_newer
    ? await newer<typeof import("@ai-sdk/react")>("@ai-sdk/react")
    : await import("@ai-sdk/react");
  return { ai: await ai_package(), Chat: react.Chat };
}

export async function all_of<Item>(stream: ReadableStream<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream as unknown as AsyncIterable<Item>) items.push(item);
  return items;
}

export function stream_of<Item>(items: readonly Item[]): ReadableStream<Item> {
  return new ReadableStream({
    start(controller) {
      for (const item of items) controller.enqueue(item);
      controller.close();
    },
  });
}

/** The UI messages that the AI SDK makes of chunks, in order; of each its last state. */
export async function folded(chunks: readonly UiMessageChunk[], message?: UIMessage): Promise<UiMessage[]> {
  const { readUIMessageStream } = await ai_package();
  // Version 6 has no type for the answers that 7 is told of.
  const stream = stream_of(chunks) as ReadableStream<UIMessageChunk>;
  const found = new Map<string, UIMessage>();
  const fail = (error: unknown) => {
    throw error;
  };
  for await (const state of readUIMessageStream({ stream, message, terminateOnError: true, onError: fail })) {
    found.set(state.id, state);
  }
  return [...found.values()].map(plain) as UiMessage[];
}

/** As JSON, and without what only a stream knows: how far it went. */
export function plain<Message extends { metadata?: unknown }>(message: Message): Message {
  const copy = JSON.parse(JSON.stringify(message)) as Message;
  delete (copy.metadata as { revision_of_session?: number } | undefined)?.revision_of_session;
  return copy;
}

export interface ChatServer {
  url: string;
  /** Requests so far, as `POST /api/chat`. */
  requests: string[];
  /** Breaks every connection that is open, as a network does. */
  break_off(): void;
  close(): Promise<void>;
}

/** What a path gives: a content type and text. */
type Files = { [path: string]: () => Promise<[string, string]> };

/** A server as an application has one: prompts, answers, and streams to resume. `session` is asked each time. */
export async function serve_chat(
  session: () => Session | Promise<Session>,
  files: Files = {},
): Promise<ChatServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(request, response).catch((error: Error) => response.writeHead(500).end(error.message));
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const file = files[request.url ?? ""];
    if (file !== undefined) {
      const [type, text] = await file();
      response.writeHead(200, { "content-type": type }).end(text);
      return;
    }
    const opened = await session();
    if (request.method === "GET") {
      const turn = new URL(request.url ?? "", "http://page").searchParams.get("turn") || undefined;
      return send(to_ui_response(opened, { turn, until: "waiting", ai: UI_VERSION }), response);
    }
    const body = JSON.parse(await text_of(request));
    if (request.url?.endsWith("/answers")) {
      await respond_from_ui(opened, body);
      response.writeHead(204).end();
      return;
    }
    const last = body.messages.at(-1) as UiMessage;
    if (last.role === "user") {
      const turn = await opened.prompt({
        query: last.parts.map((part) => (part as { text: string }).text).join(""),
      });
      return send(to_ui_response(opened, { turn, until: "waiting", ai: UI_VERSION }), response);
    }
    const { after_revision } = await respond_from_ui(opened, body.messages as unknown[]);
    return send(to_ui_response(opened, { after_revision, ai: UI_VERSION }), response);
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  const { port } = server.address() as AddressInfo;
  const break_off = () => server.closeAllConnections();
  return { url: `http://127.0.0.1:${port}`, requests, break_off, close };
}

async function send(made: Response, response: ServerResponse): Promise<void> {
  response.writeHead(made.status, Object.fromEntries(made.headers));
  const reader = made.body?.getReader();
  response.on("close", () => void reader?.cancel());
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) break;
    response.write(value);
  }
  response.end();
}

async function text_of(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}

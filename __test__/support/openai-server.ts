/**
 * A server on this machine that speaks OpenAI's streamed chat completions, awkwardly in its replies and strictly
 * in what it takes: real providers do both.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ChatMessage, chat_faults } from "./openai-strict.js";

/** How the bytes of a reply are cut: one event a chunk, several events a chunk, or a few bytes a chunk. */
export type Chunking = "events" | "merged" | "bytes";

export interface Reply {
  reasoning?: string;
  text?: string;
  /** `arguments` is the text a model would write; it is streamed in small pieces. */
  calls?: { id: string; name: string; arguments: string }[];
  /** `null`: the stream ends without a finish reason. By default `tool_calls` or `stop`. */
  finish?: string | null;
  /** The connection is cut after so many events. */
  cut_after?: number;
}

/** An answer before anything streams. */
export interface Refusal {
  status: number;
  message: string;
  headers?: { [name: string]: string };
}

export interface ChatRequest {
  messages: ChatMessage[];
  tools?: { function: { name: string; parameters: unknown } }[];
}

export class OpenAiServer {
  /** Every request, also refused ones. */
  readonly requests: ChatRequest[] = [];
  /** Why requests were refused; a good client leaves it empty. */
  readonly faults: string[] = [];
  readonly #server: Server;
  readonly #steps: (Reply | Refusal)[];
  readonly #chunking: Chunking;

  private constructor(steps: (Reply | Refusal)[], chunking: Chunking) {
    this.#steps = [...steps];
    this.#chunking = chunking;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  /** Gives the steps in order, one for each request it takes. */
  static async start(steps: (Reply | Refusal)[], chunking: Chunking = "events"): Promise<OpenAiServer> {
    const server = new OpenAiServer(steps, chunking);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get base_url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await read(request)) as ChatRequest;
    this.requests.push(body);
    const faults = chat_faults(body.messages);
    if (faults.length > 0) {
      this.faults.push(...faults);
      return refuse(response, { status: 400, message: faults.join("; ") });
    }
    const step = this.#steps.shift();
    if (!step) return refuse(response, { status: 400, message: "The server has no more steps." });
    return "status" in step ? refuse(response, step) : this.#stream(response, step);
  }

  async #stream(response: ServerResponse, reply: Reply): Promise<void> {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = events_of(reply);
    const sent = reply.cut_after === undefined ? events : events.slice(0, reply.cut_after);
    for (const chunk of chunked(sent, this.#chunking)) await write(response, chunk);
    if (reply.cut_after === undefined) response.end();
    else response.destroy();
  }
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
}

function refuse(response: ServerResponse, { status, message, headers }: Refusal): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ error: { message, type: "error", code: null, param: null } }));
}

function events_of({ reasoning, text, calls = [], finish }: Reply): string[] {
  const deltas: object[] = [{ role: "assistant", content: "" }];
  for (const piece of pieces(reasoning ?? "")) deltas.push({ reasoning_content: piece });
  for (const piece of pieces(text ?? "")) deltas.push({ content: piece });
  calls.forEach(({ id, name, arguments: whole }, index) => {
    deltas.push({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
    for (const piece of pieces(whole))
      deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
  });
  const events = deltas.map((delta) => event({ choices: [{ index: 0, delta, finish_reason: null }] }));
  if (finish !== null) {
    const reason = finish ?? (calls.length > 0 ? "tool_calls" : "stop");
    const usage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
    events.push(event({ choices: [{ index: 0, delta: {}, finish_reason: reason }], usage }));
  }
  return [...events, "data: [DONE]\n\n"];
}

function event(fields: object): string {
  const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "test", ...fields };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** Three characters each: an emoji is never split here, as a model's tokenizer would not either. */
function pieces(text: string): string[] {
  const characters = [...text];
  const list: string[] = [];
  for (let at = 0; at < characters.length; at += 3) list.push(characters.slice(at, at + 3).join(""));
  return list;
}

/** Each becomes a chunk of HTTP, which the client's parser hands on by itself. */
function chunked(events: string[], chunking: Chunking): Buffer[] {
  if (chunking === "events") return events.map((text) => Buffer.from(text));
  const size = chunking === "bytes" ? 5 : 700;
  const all = Buffer.from(events.join(""));
  const chunks: Buffer[] = [];
  for (let at = 0; at < all.length; at += size) chunks.push(all.subarray(at, at + size));
  return chunks;
}

function write(response: ServerResponse, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

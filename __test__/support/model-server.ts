/**
 * What the servers of the model services have in common: they listen on this machine, keep every request, refuse what
 * their service refuses, and else stream their next reply.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface StreamEvent {
  /** The `event:` line, where the service sends one. */
  event?: string;
  data: object;
}

/** An answer before anything streams. */
export interface HttpRefusal {
  status: number;
  message: string;
}

export interface ScriptedReply {
  /** The stream ends, without an error, after so many events: what a proxy does that gives up. */
  end_after?: number;
  /** The connection is cut after so many events. */
  cut_after?: number;
}

/** One service: how it streams, and what it takes. It may remember what it sent. */
export interface Service<Body, Reply extends ScriptedReply> {
  /** Every fault of a request, in the service's words. */
  faults(body: Body, headers: IncomingMessage["headers"], path: string): string[];
  events(reply: Reply, body: Body): StreamEvent[];
  /** The body of an error answer. */
  error(status: number, message: string): object;
}

export class ModelServer<Body, Reply extends ScriptedReply> {
  /** Every request, also refused ones. */
  readonly requests: Body[] = [];
  /** Why requests were refused; a good client leaves it empty. */
  readonly faults: string[] = [];
  readonly #server: Server;
  readonly #steps: (Reply | HttpRefusal)[];
  readonly #service: Service<Body, Reply>;

  private constructor(service: Service<Body, Reply>, steps: readonly (Reply | HttpRefusal)[]) {
    this.#service = service;
    this.#steps = [...steps];
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
  }

  /** Gives the steps in order, one for each request that is taken. */
  static async start<Body, Reply extends ScriptedReply>(
    service: Service<Body, Reply>,
    steps: readonly (Reply | HttpRefusal)[],
  ): Promise<ModelServer<Body, Reply>> {
    const server = new ModelServer(service, steps);
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
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))) as Body;
    this.requests.push(body);
    const faults = this.#service.faults(body, request.headers, request.url ?? "");
    this.faults.push(...faults);
    if (faults.length > 0) return this.#refuse(response, { status: 400, message: faults.join("; ") });
    const step = this.#steps.shift();
    if (!step) return this.#refuse(response, { status: 400, message: "The server has no more steps." });
    if ("status" in step) return this.#refuse(response, step as HttpRefusal);
    await this.#stream(response, step as Reply, body);
  }

  #refuse(response: ServerResponse, { status, message }: HttpRefusal): void {
    response.writeHead(status, { "content-type": "application/json", "retry-after-ms": "1" });
    response.end(JSON.stringify(this.#service.error(status, message)));
  }

  async #stream(response: ServerResponse, reply: Reply, body: Body): Promise<void> {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = this.#service.events(reply, body);
    const { cut_after, end_after } = reply;
    for (const { event, data } of events.slice(0, cut_after ?? end_after)) {
      const line = event === undefined ? "" : `event: ${event}\n`;
      await new Promise<void>((resolve, reject) => {
        const written = (error: unknown): void => (error ? reject(error) : resolve());
        response.write(`${line}data: ${JSON.stringify(data)}\n\n`, written);
      });
    }
    if (cut_after === undefined) response.end();
    else response.destroy();
  }
}

/** A few characters each, as a model writes them. */
export function pieces(text: string): string[] {
  const characters = [...text];
  const list: string[] = [];
  for (let at = 0; at < characters.length; at += 4) list.push(characters.slice(at, at + 4).join(""));
  return list;
}

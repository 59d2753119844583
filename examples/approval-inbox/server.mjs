// The inbox on plain HTTP: the page's files, what it is told, and what it may do.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { SessionError } from "@downcity/agent";
import { Tasks } from "./agent.mjs";
import { Feed, Inbox } from "./feed.mjs";
import { Guard } from "./guard.mjs";

const LARGEST_BODY = 1 << 20;
const FILES = new Map(
  [
    ["/", "public/index.html", "text/html"],
    ["/style.css", "public/style.css", "text/css"],
    ["/icon.svg", "public/icon.svg", "image/svg+xml"],
    ...["app", "card", "connection", "conversation", "dom", "outcome"].map((name) => [
      `/${name}.mjs`,
      `public/${name}.mjs`,
      "text/javascript",
    ]),
    // What the demo shows on a terminal is made visible in the same way here.
    ["/visible.mjs", "../demo/visible.mjs", "text/javascript"],
  ].map(([path, file, type]) => [path, { file: new URL(file, import.meta.url), type }]),
);

/**
 * Serves the inbox of an Agent on 127.0.0.1; port 0 takes a free one. Gives `{ port, url, tasks, close }`; `close`
 * lets the Agent's Sessions go without ending anything.
 */
export async function serve_inbox({ agent, folder, token, port }) {
  const tasks = new Tasks(agent, folder);
  const inbox = new Inbox(agent);
  const guard = new Guard(token);
  const server = createServer((request, response) => {
    guard.protect(response);
    respond({ request, response, guard, tasks, inbox }).catch((error) => fail(response, error));
  });
  await new Promise((resolve, reject) => {
    server.once("error", (error) => reject(error.code === "EADDRINUSE" ? taken_port(port) : error));
    server.listen(port, "127.0.0.1", resolve);
  });
  const taken = server.address().port;
  guard.listens_on(taken);
  await tasks.resume();
  const close = async () => {
    inbox.end();
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await agent.detach();
    await closed;
  };
  return { port: taken, url: `http://127.0.0.1:${taken}/#${token}`, tasks, close };
}

function taken_port(port) {
  return new Error(`Port ${port} is taken, perhaps by another inbox; choose one with --port.`);
}

async function respond({ request, response, guard, tasks, inbox }) {
  const { pathname } = new URL(request.url, "http://page");
  const is_api = pathname.startsWith("/api/");
  const refused = guard.refusal(request, { is_api });
  if (refused !== undefined) return response.writeHead(refused, { "content-type": "text/plain" }).end();
  if (!is_api) return send_file(response, FILES.get(pathname));
  if (request.method === "GET") return follow(pathname, response, { tasks, inbox });
  const done = await act(pathname, await body_of(request), tasks);
  if (done === undefined) return response.writeHead(404).end();
  send_json(response, 200, done);
}

async function send_file(response, known) {
  if (known === undefined) return response.writeHead(404).end();
  const text = await readFile(known.file);
  response.writeHead(200, { "content-type": `${known.type}; charset=utf-8` }).end(text);
}

/** The two feeds: the inbox, and one conversation as a snapshot and every Mutation after it. */
async function follow(pathname, response, { tasks, inbox }) {
  if (pathname === "/api/inbox") return inbox.add(new Feed(response));
  const [, id] = /^\/api\/conversations\/([^/]+)$/.exec(pathname) ?? [];
  if (id === undefined) return response.writeHead(404).end();
  const session = await tasks.open(decodeURIComponent(id));
  const feed = new Feed(response);
  const { snapshot, unsubscribe } = await session.watch((mutation) => feed.send("mutation", mutation));
  feed.on_close(unsubscribe);
  feed.send("snapshot", snapshot);
}

/** What the page may do. */
async function act(pathname, body, tasks) {
  const { session_id, interaction_id, response, query } = body;
  switch (pathname) {
    case "/api/answer":
      return (await tasks.open(session_id)).respond({ interaction_id, response });
    case "/api/task":
      return { session_id: (await tasks.begin(query)).id };
    case "/api/prompt":
      return { turn_id: (await (await tasks.open(session_id)).prompt({ query })).id };
    case "/api/stop":
      return (await tasks.open(session_id)).stop();
    default:
      return undefined;
  }
}

async function body_of(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > LARGEST_BODY) throw new SessionError("INVALID_INPUT", "That is too much for one request.");
    pieces.push(piece);
  }
  try {
    const body = JSON.parse(Buffer.concat(pieces).toString());
    if (typeof body === "object" && body !== null) return body;
  } catch {
    // Told below, as for any other body that makes no sense.
  }
  throw new SessionError("INVALID_INPUT", "The request's body has to be a JSON object.");
}

const STATUS = { INTERACTION_TERMINAL: 409, INTERACTION_NOT_FOUND: 404, SESSION_NOT_FOUND: 404 };

function fail(response, error) {
  if (response.headersSent) return response.end();
  if (!(error instanceof SessionError)) {
    process.stderr.write(`${error.stack}\n`);
    return send_json(response, 500, {
      code: "INTERNAL",
      message: "The server failed; its terminal says why.",
    });
  }
  const { code, message, issues, interaction } = error;
  send_json(response, STATUS[code] ?? 400, { code, message, issues, interaction });
}

function send_json(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

// Who may talk to the server: the page that was opened with the token, from this machine, and nobody else.
import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Scripts and styles of the page's own files only; nothing is loaded from, sent to or framed by anyone else. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
};

/** The token of the page: kept, so that an open page goes on when the server is started again. */
export function token_in(folder) {
  const file = join(folder, "token");
  try {
    const token = readFileSync(file, "utf8").trim();
    if (/^[\w-]{43}$/.test(token)) return token;
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
  const token = randomBytes(32).toString("base64url");
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  return token;
}

export class Guard {
  #token;
  #hosts = new Set();

  constructor(token) {
    this.#token = Buffer.from(token);
  }

  /** Only these names lead to the page: a foreign name that resolves to this machine does not. */
  listens_on(port) {
    for (const name of ["127.0.0.1", "localhost"]) this.#hosts.add(`${name}:${port}`);
  }

  /** The status a request is refused with, or undefined. The page itself needs no token, all it asks for does. */
  refusal(request, { is_api }) {
    const { host = "", origin } = request.headers;
    if (!this.#hosts.has(host)) return 421;
    if (origin !== undefined && origin !== `http://${host}`) return 403;
    if (!is_api) return request.method === "GET" ? undefined : 405;
    if (!this.#knows(request.headers.authorization)) return 401;
    if (request.method === "GET") return undefined;
    if (request.method !== "POST") return 405;
    return request.headers["content-type"] === "application/json" ? undefined : 415;
  }

  protect(response) {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  }

  #knows(authorization = "") {
    const given = Buffer.from(authorization.replace(/^Bearer /, ""));
    return given.length === this.#token.length && timingSafeEqual(given, this.#token);
  }
}

/** Reads what went wrong with a model request, whatever was thrown. */
import { message_of } from "../errors.js";
import { fields_of } from "../fields.js";
import type { ModelEvent } from "./events.js";

type Failed = Extract<ModelEvent, { type: "failed" }>;

/**
 * @param assume whether it may be tried again where the error itself does not say
 */
export function failure_of(thrown: unknown, assume: boolean): Failed {
  const retry_after_ms = guarded(() => retry_after_of(thrown), undefined);
  return {
    type: "failed",
    message: failure_message(thrown),
    code: "MODEL_FAILED",
    retryable: guarded(() => retryable(thrown) ?? assume, assume),
    ...(retry_after_ms === undefined ? {} : { retry_after_ms }),
  };
}

/** Reading an error can itself throw: it may have getters. */
function guarded<Result>(read: () => Result, otherwise: Result): Result {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Errors inside a stream are often plain data, such as `{ error: { message } }` or a text. */
function failure_message(thrown: unknown): string {
  const nested = guarded(() => fields_of(fields_of(thrown).error).message, undefined);
  return message_of(typeof nested === "string" && nested !== "" ? nested : thrown);
}

const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_)/;

/** What providers call, within a stream, what is an HTTP status of 429 or 5xx before it. */
const PASSING =
  /^(overloaded_error|api_error|rate_limit_error|rate_limit_exceeded|server_error|timeout_error|UNAVAILABLE|RESOURCE_EXHAUSTED|INTERNAL|DEADLINE_EXCEEDED)$/;

/** What the error says of itself; nothing where it says nothing. */
function retryable(thrown: unknown): boolean | undefined {
  for (const error of [thrown, fields_of(thrown).error, fields_of(thrown).cause]) {
    const { isRetryable, statusCode, status, code, type } = fields_of(error);
    if (typeof isRetryable === "boolean") return isRetryable;
    const http = typeof statusCode === "number" ? statusCode : status;
    if (typeof http === "number") return http === 408 || http === 409 || http === 429 || http >= 500;
    if (typeof code === "string" && NETWORK.test(code)) return true;
    if ([code, type, status].some((word) => typeof word === "string" && PASSING.test(word))) return true;
  }
  return undefined;
}

/** How long the provider asks to wait, in milliseconds. */
function retry_after_of(thrown: unknown): number | undefined {
  const headers = fields_of(fields_of(thrown).responseHeaders);
  const read = (name: string): string | undefined => {
    for (const [key, value] of Object.entries(headers)) {
      if (key.toLowerCase() === name && typeof value === "string") return value.trim();
    }
    return undefined;
  };
  const milliseconds = Number(read("retry-after-ms") || Number.NaN);
  if (milliseconds >= 0) return whole(milliseconds);
  const value = read("retry-after");
  if (!value) return undefined;
  const seconds = Number(value);
  if (!Number.isNaN(seconds)) return whole(seconds * 1000);
  const until = Date.parse(value) - Date.now();
  return Number.isNaN(until) ? undefined : whole(until);
}

/** A day is longer than anybody waits; the core decides how long it really does. */
const DAY = 86_400_000;

function whole(milliseconds: number): number {
  return Math.ceil(Math.min(Math.max(milliseconds, 0), DAY));
}

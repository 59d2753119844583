/** The errors users see, and words for values that were thrown at us. */
import type { Issue, SessionErrorCode, SessionErrorDetails } from "../index.js";
import type { SessionInteraction } from "../types/interaction.js";
import { cut, well_formed } from "./text.js";

export type { Issue, SessionErrorCode, SessionErrorDetails };

/** A refused call. Its message says what to do; the Session stays usable. */
export class SessionError extends Error {
  readonly code: SessionErrorCode;
  /** Everything that is wrong with a refused value. */
  declare readonly issues?: Issue[];
  /** The committed Interaction, for `INTERACTION_TERMINAL`. */
  declare readonly interaction?: SessionInteraction;

  constructor(code: SessionErrorCode, message: string, details: SessionErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    if (details.issues !== undefined) this.issues = details.issues;
    if (details.interaction !== undefined) this.interaction = details.interaction;
  }
}

// On the prototype, as the names of built-in errors are, so that it is no field in a printed error.
Object.defineProperty(SessionError.prototype, "name", {
  value: "SessionError",
  configurable: true,
  writable: true,
});

/** A refusal as it crosses from the native core. */
export interface ErrorEnvelope {
  code: string;
  message: string;
  issues?: Issue[];
  interaction?: SessionInteraction;
}

/** Makes the Error here, where it belongs to the caller's realm and has the caller's stack. */
export function session_error_from(envelope: ErrorEnvelope): SessionError {
  const { code, message, issues, interaction } = envelope;
  const error = new SessionError(code as SessionErrorCode, message, { issues, interaction });
  Error.captureStackTrace(error, session_error_from);
  return error;
}

/** What a cancelled wait rejects with: an Error named `AbortError`. */
export function abort_error(message: string): Error {
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: "AbortError", configurable: true, writable: true });
  Error.captureStackTrace(error, abort_error);
  return error;
}

/** `instanceof` for what others threw: a Proxy may throw where it is asked for its prototype. */
export function is_thrown<Thrown>(
  thrown: unknown,
  of: abstract new (...given: never[]) => Thrown,
): thrown is Thrown {
  try {
    return thrown instanceof of;
  } catch {
    return false;
  }
}

/** How much of a text is quoted in a message. */
const QUOTED = 40;

/** What was found where something else is wanted: numbers and texts as they are, anything else by its kind. */
export function found(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") {
    return value.length > QUOTED
      ? `a string of ${value.length} characters`
      : JSON.stringify(well_formed(value));
  }
  if (typeof value === "object") return is_array(value) ? "an array" : "an object";
  return `a ${typeof value}`;
}

/** `Array.isArray`, where a revoked Proxy is none instead of an exception. */
function is_array(value: object): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** Longest message that is kept of a thrown value. */
const MAX_MESSAGE = 16_384;

/** The message of anything that was thrown: never a stack, never empty, and it never throws itself. */
export function message_of(thrown: unknown): string {
  const message = well_formed(raw_message(thrown));
  return cut(message, MAX_MESSAGE);
}

function raw_message(thrown: unknown): string {
  try {
    if (typeof thrown === "string") return thrown.trim() === "" ? "an empty string was thrown" : thrown;
    if (typeof thrown !== "object" || thrown === null) return `${describe_primitive(thrown)} was thrown`;
    const { message, name } = thrown as { message?: unknown; name?: unknown };
    if (typeof message === "string" && message.trim() !== "") return message;
    if (typeof name === "string" && name !== "") return name;
    const text = JSON.stringify(thrown);
    return typeof text === "string" ? `${text} was thrown` : "an object was thrown";
  } catch {
    return "a value that cannot be read was thrown";
  }
}

function describe_primitive(value: unknown): string {
  return typeof value === "function" ? "a function" : String(value);
}

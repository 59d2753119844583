/** Checks of what callers pass, in words that say what to pass. */
import type { ApprovalMode, SecurityOptions } from "../index.js";
import { found, is_thrown, message_of, SessionError } from "./errors.js";
import { CARRIER_LIMITS, JsonError, type JsonValue, normalise } from "./json.js";

const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

export function invalid(message: string): SessionError {
  return new SessionError("INVALID_INPUT", message);
}

/** A value that is not what it has to be: the rule, and what was found. */
export function not_so(rule: string, value: unknown): SessionError {
  return invalid(`${rule}; it is ${found(value)}.`);
}

/** An object without keys that mean nothing: a misspelt option never goes unnoticed. Each is read once. */
export function accept_options(
  value: unknown,
  method: string,
  keys: readonly string[],
): Record<string, unknown> {
  const takes = `takes an object: { ${keys.join(", ")} }`;
  try {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw invalid(`${method} ${takes}; what is given is ${found(value)}.`);
    }
    const unknown = Object.keys(value).find((key) => !keys.includes(key));
    if (unknown !== undefined) throw invalid(`${method} knows no option \`${unknown}\`; it ${takes}.`);
    const fields = value as Record<string, unknown>;
    return Object.fromEntries(keys.filter((key) => key in fields).map((key) => [key, fields[key]]));
  } catch (thrown) {
    if (is_thrown(thrown, SessionError)) throw thrown;
    throw invalid(`${method} ${takes}; what is given cannot be read: ${message_of(thrown)}.`);
  }
}

/** The same where the object may be left out. */
export function accept_optional(
  value: unknown,
  method: string,
  keys: readonly string[],
): Record<string, unknown> {
  return value === undefined ? {} : accept_options(value, method, keys);
}

export function accept_id(value: unknown, what: string): string {
  if (typeof value === "string" && ID.test(value)) return value;
  throw not_so(
    `${what} has to be a string of 1 to 128 letters, digits and \`._:-\` that begins with a letter or digit`,
    value,
  );
}

export function accept_listener(value: unknown, method: string): void {
  if (typeof value !== "function") {
    throw not_so(`The listener of ${method} has to be a function that receives each Mutation`, value);
  }
}

export function accept_signal(value: unknown): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const signal = value as Partial<AbortSignal> | null;
  if (typeof signal === "object" && signal !== null && typeof signal.addEventListener === "function") {
    return signal as AbortSignal;
  }
  throw not_so("`signal` has to be an AbortSignal", value);
}

/** A whole number of at least `least`, or nothing. */
export function accept_count(value: unknown, name: string, least = 1): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw not_so(`\`${name}\` has to be a whole number of at least ${least}`, value);
}

/** A string, or nothing. */
export function accept_text(value: unknown, name: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw not_so(`\`${name}\` has to be a string`, value);
}

/** A number of seconds above zero, or nothing. */
export function accept_seconds(value: unknown, name: string): number | undefined {
  if (value === undefined || (typeof value === "number" && Number.isFinite(value) && value > 0)) return value;
  throw not_so(`\`${name}\` has to be a number of seconds above 0`, value);
}

/** An object of the caller's own, or nothing. */
export function accept_metadata(value: unknown): JsonValue | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw not_so("`metadata` has to be an object", value);
  }
  return accept_json(value, "metadata");
}

/** The value as JSON: from here on a detached copy. */
export function accept_json(value: unknown, what: string): JsonValue {
  try {
    return normalise(value, what, CARRIER_LIMITS).value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new SessionError("INVALID_INPUT", `${error.message}.`, { cause: error });
  }
}

const APPROVAL_MODES = ["ask", "always-allow"];

/** `security` as `create` takes it. */
export function accept_security(value: unknown): SecurityOptions | undefined {
  if (value === undefined) return undefined;
  const { approval_mode } = accept_options(value, "security", ["approval_mode"]);
  if (approval_mode === undefined) return undefined;
  if (!APPROVAL_MODES.includes(approval_mode as string)) {
    throw not_so('`security.approval_mode` has to be "ask" or "always-allow"', approval_mode);
  }
  return { approval_mode: approval_mode as ApprovalMode };
}

/** A response as JSON. What JSON cannot hold is no answer to anything. */
export function accept_response(value: unknown): { response: JsonValue; refusal?: SessionError } {
  try {
    return { response: normalise(value, "response", CARRIER_LIMITS).value };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    // As the core names the places of a response: from within it.
    const path = error.path.replace(/^response\./, "");
    const issues = [{ path, message: error.message }];
    const refusal = new SessionError("INVALID_RESPONSE", `${error.message}.`, { issues, cause: error });
    return { response: null, refusal };
  }
}

import { SessionError } from "../errors.js";

/** The error for a schema that cannot be used: where it is, what is wrong, what to do. */
export function refused(place: string, problem: string, advice: string, cause?: unknown): SessionError {
  return new SessionError("INVALID_INPUT", `${place} ${problem}. ${advice}`, { cause });
}

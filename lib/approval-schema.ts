import type { SESSION_APPROVAL_RESPONSE_SCHEMA as PublicSchema } from "../index.js";

/** The answer every approval needs; the native side holds the same for requests that bring no schema. */
export const SESSION_APPROVAL_RESPONSE_SCHEMA: typeof PublicSchema = deep_freeze({
  type: "object",
  required: ["decision"],
  properties: { decision: { type: "string", enum: ["approved", "denied"] } },
} as const);

function deep_freeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    if (typeof member === "object" && member !== null) deep_freeze(member as object);
  }
  return Object.freeze(value);
}

/** What is read of a tool, whichever kind it is. */
import { SessionError } from "../errors.js";
import type { Fields } from "../fields.js";
import type { JsonObject } from "../json.js";
import { GATES, type GateRule } from "./define.js";
import type { Preliminary } from "./streaming.js";

/** Runs a tool; it may throw, return anything, or never end. */
export type Execute = (input: unknown, context: object, preliminary?: Preliminary) => unknown;

export interface Definition {
  description: unknown;
  title: unknown;
  schema: unknown;
  execute: unknown;
  resume: unknown;
  explain: unknown;
  rules: readonly GateRule[];
  /** The AI SDK's tools get their options in another shape. */
  is_ai_sdk: boolean;
  to_model_output?: (argument: unknown) => unknown;
  /** What else the model's provider is told. */
  more?: JsonObject;
}

/** The rules that `with_approval` has put on a tool. */
export function rules_of(fields: Fields): readonly GateRule[] {
  const rules = fields[GATES];
  return Array.isArray(rules) ? rules : [];
}

/** The error for a tool that cannot be used. */
export function refuse(owner: string, problem: string, cause?: unknown): SessionError {
  return new SessionError("INVALID_INPUT", `${owner}: ${problem}.`, { cause });
}

/** What a tool's context carries for the tools of this package alone. */
import type { LazyAbort } from "../lazy-abort.js";

/** The payload the call's gate was approved with, where a person was asked. */
export const APPROVED = Symbol.for("@downcity/agent.approved");

/** A LazyAbort for what goes on behind the call: it fires when a Turn is stopped and when the Session is let go. */
export const SESSION_LIFE = Symbol.for("@downcity/agent.session_life");

export interface InternalContext {
  [APPROVED]?: unknown;
  [SESSION_LIFE]?: LazyAbort;
}

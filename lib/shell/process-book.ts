/** The long-running processes of Sessions, each found only by the Session that started it. */
import { randomUUID } from "node:crypto";
import type { ToolContext } from "../../types/tool.js";
import { fields_of } from "../fields.js";
import type { LazyAbort } from "../lazy-abort.js";
import { SESSION_LIFE } from "../tools/context.js";
import type { CommandPlan } from "./plan.js";
import type { ShellProcess } from "./process.js";

/** Processes one Session may have at a time. */
const MAX_PROCESSES = 16;

export interface BookedProcess {
  readonly process_id: string;
  readonly plan: CommandPlan;
  readonly process: ShellProcess;
}

export class ProcessBook {
  readonly #sessions = new Map<string, Map<string, BookedProcess>>();

  /** @throws Error, for the model, where the Session has too many */
  check_room(session_id: string): void {
    if ((this.#sessions.get(session_id)?.size ?? 0) < MAX_PROCESSES) return;
    throw new Error(`Nothing was started: ${MAX_PROCESSES} processes are there already. Stop one first.`);
  }

  /** From now on it ends when the Turn is stopped or the Session let go. */
  add(context: ToolContext, plan: CommandPlan, process: ShellProcess): BookedProcess {
    const process_id = `process-${randomUUID()}`;
    const booked = { process_id, plan, process };
    const { session_id } = context;
    const of_session = this.#sessions.get(session_id) ?? new Map<string, BookedProcess>();
    this.#sessions.set(session_id, of_session.set(process_id, booked));
    const life = (fields_of(context)[SESSION_LIFE] as LazyAbort | undefined)?.signal;
    const end = () => {
      process.end();
      this.remove(session_id, process_id);
    };
    if (life?.aborted) end();
    else life?.addEventListener("abort", end, { once: true });
    return booked;
  }

  /** @throws Error, for the model, where there is no such process */
  find(session_id: string, process_id: string): BookedProcess {
    const found = this.#sessions.get(session_id)?.get(process_id);
    if (found !== undefined) return found;
    throw new Error(
      "There is no such process any more: it has ended and its end was read, it was stopped, or the agent was " +
        "restarted, which ends every process.",
    );
  }

  remove(session_id: string, process_id: string): void {
    const of_session = this.#sessions.get(session_id);
    of_session?.delete(process_id);
    if (of_session?.size === 0) this.#sessions.delete(session_id);
  }
}

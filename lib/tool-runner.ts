import type { ToolCallInfo, ToolContext } from "../index.js";
import type { NativeEvent } from "./bridge.js";
import { tool_interactions } from "./interactions.js";
import { LazyAbort } from "./lazy-abort.js";
import type { SessionPort } from "./session-port.js";
import { APPROVED, type InternalContext, SESSION_LIFE } from "./tools/context.js";
import type { ToolCall, ToolRegistry } from "./tools/registry.js";
import type { Workspace } from "./workspace.js";

/** Runs the tools of one Session where the native side says so. */
export class ToolRunner {
  readonly #port: SessionPort;
  readonly #registry: ToolRegistry;
  readonly #workspace: Workspace | null;
  /** By call, while something of it is running. */
  readonly #aborts = new Map<string, AbortController>();
  /** Until a Turn is stopped or the Session let go: for what a tool leaves running behind its call. */
  #life = new LazyAbort();

  constructor(port: SessionPort, registry: ToolRegistry, workspace: Workspace | null) {
    this.#port = port;
    this.#registry = registry;
    this.#workspace = workspace;
  }

  prepare(event: NativeEvent): void {
    const info = this.#info(event);
    const abort_signal = this.#controller(info.tool_call_id).signal;
    const work = this.#registry.prepare(this.#call(event), { ...info, abort_signal } as ToolCallInfo);
    // A call that a gate holds back may never be entered: nothing of it stays here, `enter` begins anew.
    this.#report(work, () => this.#aborts.delete(info.tool_call_id));
  }

  /** An earlier process has validated the call, and a person is asked about it. */
  check(event: NativeEvent): void {
    void this.#registry.check(this.#call(event)).then((input_json) => {
      if (input_json !== undefined) this.#port.tell(input_json);
    });
  }

  /** A new step begins, and nothing of the former one waits. */
  step(): void {
    this.#registry.forget(this.#port.handle);
  }

  enter(event: NativeEvent): void {
    const info = this.#info(event);
    const { turn_id, tool_call_id, tool_name } = info;
    const context: ToolContext & InternalContext = {
      ...info,
      [APPROVED]: event.approval,
      [SESSION_LIFE]: this.#life,
      abort_signal: this.#controller(tool_call_id).signal,
      resumed: event.resumed === true,
      interactions: tool_interactions(this.#port.desk, { turn_id, tool_call_id, tool_name }),
    };
    const id_json = JSON.stringify(tool_call_id);
    const show = (output_json: string) =>
      this.#port.tell(`{"input":"tool_progress","tool_call_id":${id_json},"output":${output_json}}`);
    const work = this.#registry.enter(this.#call(event), context, show);
    this.#report(work, () => this.#forget(tool_call_id));
  }

  abort(tool_call_id: string): void {
    this.#aborts.get(tool_call_id)?.abort();
    this.#forget(tool_call_id);
  }

  /** Whoever stops a Turn wants everything stopped that it has set going. */
  turn_stopped(): void {
    this.#life.abort();
    this.#life = new LazyAbort();
  }

  abandon(): void {
    this.#life.abort();
    for (const tool_call_id of [...this.#aborts.keys()]) this.abort(tool_call_id);
    this.#registry.forget(this.#port.handle);
  }

  /** The registry turns every failure into an input of its own. */
  #report(work: Promise<string>, clear: () => void): void {
    void work.then((input_json) => {
      clear();
      this.#port.tell(input_json);
    });
  }

  #forget(tool_call_id: string): void {
    this.#aborts.delete(tool_call_id);
    this.#registry.forget(this.#port.handle, tool_call_id);
  }

  #controller(tool_call_id: string): AbortController {
    const controller = this.#aborts.get(tool_call_id) ?? new AbortController();
    this.#aborts.set(tool_call_id, controller);
    return controller;
  }

  #call(event: NativeEvent): ToolCall {
    const { tool_call_id, tool_name, input, validated_input } = event as NativeEvent & ToolCall;
    return { session: this.#port.handle, tool_call_id, tool_name, input, validated_input };
  }

  #info(event: NativeEvent): ToolCallInfo {
    const { turn_id, step_id, tool_call_id, tool_name } = event as NativeEvent & ToolCallInfo;
    const { session_id } = this.#port;
    return { session_id, turn_id, step_id, tool_call_id, tool_name, workspace: this.#workspace };
  }
}

import type { Message, MessagesPage } from "../index.js";
import type { AgentSetup } from "./agent-setup.js";
import { json_text, type NativeEvent } from "./bridge.js";
import { message_of } from "./errors.js";
import { ModelDriver } from "./model/driver.js";
import type { ModelSink } from "./model/events.js";
import { PromptHistory } from "./model/history.js";
import type { SessionPort, Worker } from "./session-port.js";
import { StreamBuffer } from "./stream-buffer.js";
import { ToolRunner } from "./tool-runner.js";
import type { Workspace } from "./workspace.js";

/** Messages of one page when the prompt is built again from what is stored. */
const PAGE = 1000;

interface ModelEvent extends NativeEvent {
  step_id: string;
  delay_ms: number;
  model_key?: number;
  /** How many updates of the prompt were sent before. */
  base: number;
  /** More is stored than `messages` holds. */
  history: boolean;
  messages: Message[];
}

/** A part of the update that the next model request brings, sent ahead because it is large. */
interface HistoryEvent extends NativeEvent {
  base: number;
  message: Message;
}

/** Does what one Session asks of JavaScript: asks its model, runs its tools. */
export class SessionWorker implements Worker {
  readonly #port: SessionPort;
  readonly #setup: AgentSetup;
  readonly #tools: ToolRunner;
  readonly #driver = new ModelDriver();
  readonly #history: PromptHistory;
  /** Updates of the prompt that were taken so far. */
  #updates = 0;
  #update: Promise<void> = Promise.resolve();
  readonly #requests = new Map<string, AbortController>();
  /** Of the requests that are going on. */
  readonly #buffers = new Set<StreamBuffer>();

  constructor(port: SessionPort, setup: AgentSetup, workspace: Workspace | null) {
    this.#port = port;
    this.#setup = setup;
    this.#tools = new ToolRunner(port, setup.registry, workspace);
    this.#history = new PromptHistory({ max_tool_result_chars: setup.max_tool_result_chars });
  }

  on_event(event: NativeEvent): void {
    switch (event.e) {
      case "model":
        this.#ask_model(event as ModelEvent);
        break;
      case "model_history":
        this.#take_ahead(event as HistoryEvent);
        break;
      case "model_abort":
        this.#requests.get(event.step_id as string)?.abort();
        break;
      case "tool_prepare":
        this.#tools.prepare(event);
        break;
      case "tool_check":
        this.#tools.check(event);
        break;
      case "tool_enter":
        this.#tools.enter(event);
        break;
      case "tool_abort":
        this.#tools.abort(event.tool_call_id as string);
        break;
      default:
        throw new Error(`The native side sent an event that is not known here: ${event.e}`);
    }
  }

  flush(): void {
    for (const buffer of this.#buffers) buffer.flush();
  }

  turn_stopped(): void {
    this.#tools.turn_stopped();
  }

  abandon(): void {
    for (const request of this.#requests.values()) request.abort();
    this.#requests.clear();
    this.#tools.abandon();
  }

  /** Never rejects: whatever goes wrong is the model's failure. */
  async #ask_model(event: ModelEvent): Promise<void> {
    const { step_id, delay_ms } = event;
    this.#tools.step();
    const controller = new AbortController();
    this.#requests.set(step_id, controller);
    const buffer = this.#buffer(step_id);
    const sink: ModelSink = {
      event: (event) => buffer.add(event),
      delta: (ref, text) => buffer.add_delta(ref, text),
    };
    try {
      const missing = await this.#take_update(event).then(
        () => undefined,
        (error: unknown) => message_of(error),
      );
      if (missing !== undefined) {
        // The store may answer again: as with a model that does not, it is tried again.
        sink.event({ type: "failed", code: "MODEL_FAILED", message: missing, retryable: true });
        return;
      }
      const model = this.#setup.models.find(event.model_key);
      const { instruction, registry } = this.#setup;
      const prompt = model === undefined ? [] : this.#history.prompt(instruction, model.specification);
      const tools = registry.model_tools;
      const { signal } = controller;
      await this.#driver.run({ model, prompt, tools, delay_ms, signal, ids: this.#history }, sink);
    } catch (error) {
      sink.event({ type: "failed", code: "MODEL_FAILED", message: message_of(error), retryable: false });
    } finally {
      this.#buffers.delete(buffer);
      if (this.#requests.get(step_id) === controller) this.#requests.delete(step_id);
    }
  }

  #buffer(step_id: string): StreamBuffer {
    const { bridge, handle } = this.#port;
    const buffer = new StreamBuffer({
      events: (events) => bridge.model(handle, step_id, json_text(events)),
      delta: (ref, text) => bridge.delta(handle, step_id, ref, text),
    });
    this.#buffers.add(buffer);
    return buffer;
  }

  #take_ahead(event: HistoryEvent): void {
    this.#update = this.#update
      .catch(() => {})
      .then(() => {
        if (event.base === this.#updates) this.#history.append([event.message]);
      });
  }

  /** Updates are taken one after the other: a later one waits for the history to be loaded. */
  #take_update(event: ModelEvent): Promise<void> {
    const taken = this.#update.catch(() => {}).then(() => this.#update_history(event));
    this.#update = taken;
    return taken;
  }

  /** Takes what is new; where something was missed, builds it all again. */
  async #update_history(event: ModelEvent): Promise<void> {
    if (event.base !== this.#updates || event.history) {
      // Until it is loaded, whatever comes counts as missed.
      this.#updates = -1;
      const messages = await this.#stored_messages();
      this.#history.reset();
      this.#history.append(messages);
    } else {
      this.#history.append(event.messages);
    }
    this.#updates = event.base + 1;
  }

  async #stored_messages(): Promise<Message[]> {
    const pages: Message[][] = [];
    let before_sequence: number | undefined;
    do {
      const request = { op: "messages", session: this.#port.handle, limit: PAGE, before_sequence };
      const page: MessagesPage = await this.#port.bridge.call(request);
      pages.unshift(page.items);
      // A cursor that does not fall would never end.
      if ((page.next_before_sequence ?? 0) >= (before_sequence ?? Number.MAX_SAFE_INTEGER)) break;
      before_sequence = page.next_before_sequence;
    } while (before_sequence !== undefined);
    return pages.flat();
  }
}

import type { Specification } from "../model/accept.js";
import { type Generated, generated } from "./generated.js";
import type { ScriptedAction, ScriptedFinish, ScriptedStep, ScriptedUsage } from "./script.js";
import { call_parts, finish_part, result_part, text_parts, type Writing } from "./stream-parts.js";
import { assert_strict_prompt } from "./strict-prompt.js";

/** A prompt as the model was given it. */
export type RecordedPrompt = readonly { role: string; content: unknown }[];

/** Says what to do from the prompt; `step` counts the requests from 0. */
export type Script = (prompt: RecordedPrompt, step: number) => ScriptedStep | Promise<ScriptedStep>;

export interface ScriptedModelOptions {
  /** `v3` by default. */
  specification?: Specification;
  /** Cuts texts and arguments into deltas of so many characters, also inside an emoji. */
  chunk_size?: number;
  provider?: string;
  model_id?: string;
  /** Whether each prompt is checked as the strictest provider would (the default). */
  strict?: boolean;
}

/** One request as it arrived. */
export interface RecordedRequest {
  prompt: RecordedPrompt;
  /** The tools that were offered, as they were given. */
  tools: readonly { name: string; description?: string; inputSchema: unknown }[];
  signal: AbortSignal | undefined;
}

/**
 * A language model that does what a script says, step by step, and keeps every request.
 *
 * @example
 * const model = new ScriptedModel([
 *   [{ call: "delete_file", input: { path: "a.txt" } }],
 *   "It is gone.",
 * ]);
 */
export class ScriptedModel {
  readonly specificationVersion: Specification;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls = {};
  /** Every request, in order. */
  readonly requests: RecordedRequest[] = [];
  readonly #script: Script;
  readonly #strict: boolean;
  readonly #writing: Writing;
  #ids = 0;

  constructor(script: readonly ScriptedStep[] | Script, options: ScriptedModelOptions = {}) {
    this.specificationVersion = options.specification ?? "v3";
    this.provider = options.provider ?? "scripted";
    this.modelId = options.model_id ?? "script";
    this.#script = typeof script === "function" ? script : (_prompt, step) => nth(script, step);
    this.#strict = options.strict ?? true;
    this.#writing = {
      specification: this.specificationVersion,
      chunk_size: options.chunk_size,
      new_id: (prefix) => {
        this.#ids += 1;
        return `${prefix}_${this.#ids}`;
      },
    };
  }

  /** The prompts of all requests. */
  get prompts(): RecordedPrompt[] {
    return this.requests.map(({ prompt }) => prompt);
  }

  /** The next step as a whole. A Session only streams; other users of the AI SDK may not. */
  async doGenerate(options: object): Promise<Generated> {
    const { stream } = await this.doStream(options);
    return generated(stream);
  }

  async doStream(options: object): Promise<{ stream: ReadableStream<object> }> {
    const request = recorded(options);
    this.requests.push(request);
    if (this.#strict) assert_strict_prompt(request.prompt, this.specificationVersion);
    const step = await this.#script(request.prompt, this.requests.length - 1);
    if (typeof step === "object" && "reject" in step) throw rejection(step);
    const actions: readonly ScriptedAction[] = typeof step === "string" ? [{ text: step }] : step;
    return { stream: this.#stream(actions, request.signal) };
  }

  /** Written part by part as it is read, so that a gate holds back what comes after it. */
  #stream(actions: readonly ScriptedAction[], signal: AbortSignal | undefined): ReadableStream<object> {
    const parts = written(actions, this.#writing);
    return new ReadableStream<object>({
      start: (controller) => {
        const abort = (): void => controller.error(signal?.reason);
        signal?.addEventListener("abort", abort, { once: true });
      },
      pull: async (controller) => {
        const { done, value } = await parts.next();
        if (signal?.aborted) return;
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
  }
}

function recorded(options: object): RecordedRequest {
  const { prompt, tools, abortSignal } = options as {
    prompt: RecordedPrompt;
    tools?: RecordedRequest["tools"];
    abortSignal?: AbortSignal;
  };
  return { prompt, tools: tools ?? [], signal: abortSignal };
}

function nth(script: readonly ScriptedStep[], step: number): ScriptedStep {
  const scripted = script[step];
  if (scripted === undefined) {
    throw new Error(`The script has ${script.length} steps, but the model was asked a time more.`);
  }
  return scripted;
}

function rejection(step: { reject: unknown; retryable?: boolean; headers?: object }): unknown {
  const { reject, retryable, headers } = step;
  if (retryable === undefined && headers === undefined) return reject;
  const error = reject instanceof Error ? reject : new Error(String(reject));
  return Object.assign(error, { isRetryable: retryable ?? false, responseHeaders: headers });
}

async function* written(actions: readonly ScriptedAction[], writing: Writing): AsyncGenerator<object, void> {
  let reason: ScriptedFinish = actions.some((action) => "call" in action && !action.provider_executed)
    ? "tool-calls"
    : "stop";
  let usage: ScriptedUsage = { input: 10, output: 5 };
  yield { type: "stream-start", warnings: [] };
  for (const action of actions) {
    if ("no_finish" in action) return;
    if ("break_off" in action) throw action.break_off;
    if ("hold" in action) await action.hold.wait();
    else if ("finish" in action) {
      reason = action.finish;
      usage = action.usage ?? usage;
    } else yield* parts_of(action, writing);
  }
  yield finish_part(reason, usage, writing);
}

type Streamed = Exclude<
  ScriptedAction,
  { no_finish: true } | { break_off: unknown } | { hold: unknown } | { finish: unknown }
>;

function parts_of(action: Streamed, writing: Writing): object[] {
  if ("text" in action) return text_parts("text", action, writing);
  if ("reasoning" in action) return text_parts("reasoning", action, writing);
  if ("call" in action) return call_parts(action, writing);
  if ("result" in action) return [result_part(action, writing)];
  if ("raw" in action) return [action.raw];
  return [{ type: "error", error: action.error }];
}

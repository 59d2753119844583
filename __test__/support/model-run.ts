/** Runs one request and tells what a core would have been told. */
import { accept_model } from "../../lib/model/accept.js";
import { ModelDriver } from "../../lib/model/driver.js";
import type { ModelEvent, ModelSink } from "../../lib/model/events.js";
import { PromptHistory } from "../../lib/model/history.js";
import { ScriptedModel, type ScriptedStep } from "../../lib/testing/index.js";

export type Seen = ModelEvent | { delta: string; ref: number };

export const SPECIFICATIONS = ["v2", "v3", "v4"] as const;
export const USER = [{ role: "user" as const, content: [{ type: "text" as const, text: "hello" }] }];

interface Options {
  signal?: AbortSignal;
  delay_ms?: number;
  ids?: PromptHistory;
}

function sink_into(seen: Seen[]): ModelSink {
  return {
    event: (event) => seen.push(JSON.parse(JSON.stringify(event))),
    delta: (ref, delta) => seen.push({ delta, ref }),
  };
}

export async function run(model: unknown, options: Options = {}): Promise<Seen[]> {
  const seen: Seen[] = [];
  const request = {
    model: model === undefined ? undefined : accept_model(model),
    prompt: USER,
    tools: [],
    delay_ms: options.delay_ms ?? 0,
    signal: options.signal ?? new AbortController().signal,
    ids: options.ids ?? new PromptHistory({ max_tool_result_chars: 1000 }),
  };
  await new ModelDriver().run(request, sink_into(seen));
  return seen;
}

export const scripted = (
  step: ScriptedStep,
  specification: "v2" | "v3" | "v4" = "v3",
  chunk_size?: number,
): ScriptedModel => new ScriptedModel([step], { specification, chunk_size });

/** A model whose stream has exactly these parts. */
export const raw = (...parts: object[]): ScriptedModel =>
  scripted([...parts.map((part) => ({ raw: part })), { no_finish: true }]);

export const FINISH = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} };

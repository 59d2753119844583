/** What must hold when everything was answered and one more Turn has run: I4, I8, I9, I10, I12. */
import { isDeepStrictEqual } from "node:util";
import type { Interaction, ToolPart } from "@downcity/agent";
import type { End, PromptMessage } from "./facts.js";
import type { SessionLedger } from "./session_ledger.js";
import { asked_in, by_id, calls_in, is_terminal, texts_of } from "./views.js";

const GATES = new Set(["gated", "ruled", "gated_replaying"]);

export function* faults_of_end(
  ledger: SessionLedger,
  end: End,
  prompts: PromptMessage[][],
): Generator<string> {
  const { messages, status, interactions, result } = end;
  if (result.status !== "completed") yield `I12: the last Turn is ${result.status}: ${result.error}`;
  if (status.state !== "idle" || interactions.length > 0) yield "I12: it is not idle at the end";
  if (messages.some(({ state }) => state !== "done")) yield "I12: a message is open at the end";
  if (messages.some(({ sequence }, at) => sequence !== at + 1)) yield "there is a gap among the messages";
  yield* faults_of_prompts(ledger, end);
  yield* faults_of_answers(ledger, by_id(asked_in(messages)));
  const calls = calls_in(messages);
  const known = new Map(calls.map((call) => [call.tool_call_id, call]));
  if (known.size !== calls.length) yield "O-23: a tool_call_id comes twice in the Session";
  for (const id of ledger.entered.keys()) if (!known.has(id)) yield `I9: ${id} was entered and is not stored`;
  for (const call of calls) yield* faults_of_call(ledger, call);
  yield* faults_of_last_prompt(end, calls, prompts);
}

/** Every acknowledged prompt is there once, in the order they were given; a stop may have dropped it. */
function* faults_of_prompts({ prompts }: SessionLedger, { messages, s }: End): Generator<string> {
  const texts = texts_of(messages);
  const last = `last ${s}`;
  for (const { query, acknowledged, may_be_dropped } of prompts) {
    const times = texts.filter((text) => text === query).length;
    if (times > 1) yield `the prompt ${query} is there ${times} times`;
    if (times === 0 && acknowledged && !may_be_dropped) yield `the acknowledged prompt ${query} is lost`;
  }
  const given = [...prompts.map(({ query }) => query).filter((query) => query !== last), last];
  const order = given.filter((query) => texts.includes(query));
  if (!isDeepStrictEqual(order, texts)) yield `the prompts are in another order: ${texts.join(", ")}`;
}

function* faults_of_answers(ledger: SessionLedger, stored: Map<string, Interaction>): Generator<string> {
  for (const [id, interaction] of ledger.answered) {
    if (!isDeepStrictEqual(stored.get(id), interaction))
      yield `I4: the acknowledged answer to ${id} is not there`;
  }
  for (const { interaction_id = "", value, id } of ledger.got) {
    if (value?.auto_approved) continue;
    const { response, status } = stored.get(interaction_id) ?? {};
    const answer = response as { payload?: { decision?: string } } | undefined;
    const approved = status === "resolved" && answer?.payload?.decision === "approved";
    const same =
      value?.approved === undefined ? isDeepStrictEqual(response, value) : value.approved === approved;
    if (!same) yield `I4: ${id} was told something else than ${interaction_id} was answered`;
  }
}

function* faults_of_call(ledger: SessionLedger, call: ToolPart): Generator<string> {
  const { tool_call_id: id, tool_name, state, output, error_code, interactions = [] } = call;
  const entries = ledger.entered.get(id) ?? [];
  if (!is_terminal(call)) yield `I12: ${id} of ${tool_name} is ${state} at the end`;
  if (entries.some(({ input }) => !isDeepStrictEqual(input, call.input))) {
    yield `O-18: ${id} was entered with another input than is shown`;
  }
  const gate = GATES.has(tool_name) ? interactions.find(is_gate) : undefined;
  if (gate !== undefined && entries.length > 0 && !was_approved(gate)) {
    yield `O-09: ${id} of ${tool_name} was entered without approval (${gate.status})`;
  }
  if (gate !== undefined && was_approved(gate) && error_code === "denied") {
    yield `${id} was approved and is denied`;
  }
  for (const interaction of interactions) yield* faults_of_cancel(interaction, call);
  if (state !== "completed") return;
  if (tool_name === "ask") yield* faults_of_questions(call);
  else if (entries.length === 0) yield `${id} of ${tool_name} completed without being entered`;
  else if (!(ledger.returned.get(id) ?? []).some((one) => isDeepStrictEqual(one, output))) {
    yield `${id} of ${tool_name} has a result that it did not return`;
  }
}

/** What a tool asks itself has a position. */
function is_gate({ type, payload }: Interaction): boolean {
  return type === "approval" && (payload as { position?: number }).position === undefined;
}

function was_approved({ status, response }: Interaction): boolean {
  const answer = response as { payload?: { decision?: string } } | undefined;
  return status === "resolved" && answer?.payload?.decision === "approved";
}

/** Why something may end unanswered. */
function* faults_of_cancel(interaction: Interaction, { tool_name }: ToolPart): Generator<string> {
  const { interaction_id, status, cancel_reason } = interaction;
  if (status === "pending") yield `${interaction_id} is pending at the end`;
  if (status === "failed" && tool_name !== "drifting")
    yield `${interaction_id} of ${tool_name} failed to replay`;
  if (cancel_reason === "runtime_interrupted" && tool_name !== "asking") {
    yield `section 9: ${interaction_id} of ${tool_name} was ended by a restart`;
  }
  if (cancel_reason === "tool_ended" && tool_name !== "racing") {
    yield `${interaction_id} was ended by its ${tool_name}`;
  }
}

function* faults_of_questions({ tool_call_id, output, interactions = [] }: ToolPart): Generator<string> {
  const answers = (value: unknown) => (value as { answers?: unknown } | undefined)?.answers;
  const [asked] = interactions;
  const given = answers((asked?.response as { payload?: unknown } | undefined)?.payload);
  if (!isDeepStrictEqual(answers(output), given))
    yield `I4: ${tool_call_id} has other answers than were given`;
}

interface Content {
  type: string;
  text?: string;
  toolCallId?: string;
  toolName?: string;
  output?: { type: string; value?: unknown };
}

const contents = (prompt: PromptMessage[], role: string): Content[] =>
  prompt.filter((message) => message.role === role).flatMap(({ content }) => content as Content[]);

/** That it is one a strict provider takes was checked where it was made. */
function* faults_of_last_prompt(end: End, calls: ToolPart[], prompts: PromptMessage[][]): Generator<string> {
  const last = `last ${end.s}`;
  const prompt = prompts.find((one) => contents(one, "user").at(-1)?.text === last);
  if (prompt === undefined) {
    yield "the model was not asked at the end";
    return;
  }
  const told = contents(prompt, "user").map(({ text }) => text);
  if (!isDeepStrictEqual(told, texts_of(end.messages))) yield "I10: the model is told other prompts";
  const results = contents(prompt, "tool").filter(({ type }) => type === "tool-result");
  if (results.length !== calls.length) {
    yield `I10: ${calls.length} calls are stored, ${results.length} results are sent`;
    return;
  }
  for (const [at, call] of calls.entries()) {
    const { toolName, output } = results[at] as Content;
    if (toolName !== call.tool_name) yield `I10: result ${at} is of ${toolName}, not of ${call.tool_name}`;
    if (call.state === "completed" && !isDeepStrictEqual(output?.value, call.output)) {
      yield `I10: the model is told another result of ${call.tool_call_id}`;
    }
  }
}

/** Anthropic's messages: its event stream, and what it refuses in the next request. */
import { isDeepStrictEqual } from "node:util";
import { pieces, type ScriptedReply, type Service, type StreamEvent } from "./model-server.js";

export type Block =
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  | { type: "text"; text: string }
  | { type: "tool_use"; id: string; name: string; input: object; caller?: object }
  | { type: "server_tool_use"; id: string; name: string; input: object }
  | { type: "web_search_tool_result"; tool_use_id: string; content: object }
  | { type: "code_execution_tool_result"; tool_use_id: string; content: object };

export interface AnthropicReply extends ScriptedReply {
  blocks: Block[];
  /** `tool_use` where there are calls, else `end_turn`, by default. */
  stop_reason?: string;
  /** An error in the stream, after so many blocks. */
  error?: { after: number; type: string; message: string };
}

type Loose = { type: string; [field: string]: unknown };
export interface AnthropicBody {
  model: string;
  max_tokens?: number;
  thinking?: { type: string; budget_tokens?: number };
  tools?: { name: string; input_schema?: { type?: unknown }; type?: string }[];
  messages: { role: string; content: string | Loose[] }[];
}

const is_thought = ({ type }: { type: string }): boolean =>
  type === "thinking" || type === "redacted_thinking";
/** What has to come back as it was, in its order. */
const is_bound = (block: { type: string }): boolean =>
  is_thought(block) ||
  block.type === "tool_use" ||
  block.type.startsWith("server_tool") ||
  block.type.startsWith("web_") ||
  block.type.startsWith("code_");
/** Fields that only steer a request are no part of a block. */
const bare = ({ cache_control: _, ...block }: Loose): object => block;

export class AnthropicService implements Service<AnthropicBody, AnthropicReply> {
  /** What was sent, by the id of its first call; the service knows it by its signatures. */
  readonly #sent: Block[][] = [];

  error(status: number, message: string): object {
    const type = status === 529 ? "overloaded_error" : status === 400 ? "invalid_request_error" : "api_error";
    return { type: "error", error: { type, message }, request_id: "req_1" };
  }

  faults(body: AnthropicBody, headers: { [name: string]: unknown }, path: string): string[] {
    const faults: string[] = [];
    if (path !== "/v1/messages") faults.push(`There is no ${path}`);
    if (headers["anthropic-version"] === undefined) faults.push("anthropic-version: header is required");
    if (headers["x-api-key"] === undefined) faults.push("x-api-key: header is required");
    if (!Number.isInteger(body.max_tokens)) faults.push("max_tokens: Field required");
    const budget = body.thinking?.budget_tokens;
    if (budget !== undefined && budget >= (body.max_tokens ?? 0))
      faults.push("`max_tokens` must be greater than `thinking.budget_tokens`");
    for (const { name, type, input_schema } of body.tools ?? []) {
      if (type === undefined && input_schema?.type !== "object")
        faults.push(`tools.${name}.input_schema.type: Field required`);
    }
    if (body.messages[0]?.role !== "user") faults.push('messages: first message must use the "user" role');
    let open: unknown[] = [];
    body.messages.forEach(({ role, content }, index) => {
      const place = `messages.${index}`;
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
      if (blocks.length === 0) faults.push(`${place}: content must not be empty`);
      if (role === body.messages[index - 1]?.role) faults.push(`${place}: roles must alternate`);
      faults.push(...results_faults(blocks, open, place), ...text_faults(blocks, place));
      open = role === "assistant" ? this.#assistant(blocks, place, faults) : [];
    });
    for (const id of open)
      faults.push(`\`tool_use\` ids were found without \`tool_result\` blocks: ${String(id)}`);
    faults.push(...thinking_faults(body), ...server_tool_faults(body));
    return faults;
  }

  /** The ids of its calls. */
  #assistant(blocks: readonly Loose[], place: string, faults: string[]): unknown[] {
    const last = blocks.at(-1);
    if (last && is_thought(last))
      faults.push(`${place}: The final block in an assistant message cannot be \`thinking\``);
    const bound = blocks.filter(is_bound).map(bare);
    const calls = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    if (new Set(calls).size < calls.length) faults.push(`${place}: \`tool_use\` ids must be unique`);
    const as_sent = this.#sent.some((sent) => isDeepStrictEqual(sent.filter(is_bound), bound));
    if (bound.length > 0 && !as_sent)
      faults.push(
        `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. ` +
          "These blocks must remain as they were in the original response",
      );
    return calls;
  }

  events({ blocks, stop_reason, error }: AnthropicReply, { model }: AnthropicBody): StreamEvent[] {
    this.#sent.push(blocks);
    const usage = { input_tokens: 12, output_tokens: 1 };
    const message = {
      id: `msg_${this.#sent.length}`,
      type: "message",
      role: "assistant",
      model,
      content: [],
    };
    const data: Loose[] = [
      { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
      { type: "ping" },
      ...blocks.slice(0, error?.after).flatMap(block_events),
    ];
    const called = blocks.some(({ type }) => type === "tool_use");
    const reason = stop_reason ?? (called ? "tool_use" : "end_turn");
    if (error) data.push({ type: "error", error: { type: error.type, message: error.message } });
    else {
      const delta = { stop_reason: reason, stop_sequence: null };
      data.push({ type: "message_delta", delta, usage: { output_tokens: 3 } }, { type: "message_stop" });
    }
    return data.map((event) => ({ event: event.type, data: event }));
  }
}

function results_faults(blocks: readonly Loose[], open: readonly unknown[], place: string): string[] {
  const results = blocks.filter(({ type }) => type === "tool_result");
  const ids = results.map(({ tool_use_id }) => tool_use_id);
  const missing = open.filter((id) => !ids.includes(id));
  const foreign = ids.filter((id) => !open.includes(id));
  const first = blocks.slice(0, results.length);
  return [
    ...missing.map(
      (id) => `${place}: \`tool_use\` ids were found without \`tool_result\` blocks: ${String(id)}`,
    ),
    ...foreign.map(
      (id) => `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}`,
    ),
    ...(new Set(ids).size < ids.length ? [`${place}: each tool_use must have a single result`] : []),
    ...(first.every(({ type }) => type === "tool_result")
      ? []
      : [`${place}: \`tool_result\` blocks come first`]),
  ];
}

function text_faults(blocks: readonly Loose[], place: string): string[] {
  const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => String(text));
  return texts.flatMap((text) =>
    text.trim() === "" ? [`${place}: text content blocks must contain non-whitespace text`] : [],
  );
}

/** What the service ran has a result, unless it waits for calls that are answered at the very end. */
function server_tool_faults({ messages }: AnthropicBody): string[] {
  const blocks = messages.map(({ content }) => (typeof content === "string" ? [] : content));
  const ended = blocks.flat().map(({ tool_use_id }) => tool_use_id);
  if (blocks.at(-1)?.some(({ type }) => type === "tool_result")) return [];
  return blocks.flatMap((of_message, index) =>
    of_message
      .filter(({ type, id }) => type === "server_tool_use" && !ended.includes(id))
      .map(({ id }) => `messages.${index}: \`server_tool_use\` without a result: ${String(id)}`),
  );
}

/** While tools are used, the assistant message that called them begins with its thinking. */
function thinking_faults({ thinking, messages }: AnthropicBody): string[] {
  if (thinking?.type !== "enabled") return [];
  const at = messages.findLastIndex(({ role }) => role === "assistant");
  const answer = messages.at(-1)?.content;
  const goes_on = Array.isArray(answer) && answer.some(({ type }) => type === "tool_result");
  const first = messages[at]?.content[0];
  if (at < 0 || !goes_on || (typeof first === "object" && is_thought(first))) return [];
  const found = typeof first === "object" ? first.type : "text";
  return [
    `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\``,
  ];
}

function block_events(block: Block, index: number): Loose[] {
  const delta = (delta: object): Loose => ({ type: "content_block_delta", index, delta });
  const [content_block, deltas] = opened(block);
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map(delta),
    { type: "content_block_stop", index },
  ];
}

/** How a block begins, and what follows. */
function opened(block: Block): [object, object[]] {
  switch (block.type) {
    case "thinking":
      return [
        { type: "thinking", thinking: "", signature: "" },
        [
          ...pieces(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block.signature },
        ],
      ];
    case "text":
      return [{ type: "text", text: "" }, pieces(block.text).map((text) => ({ type: "text_delta", text }))];
    case "tool_use":
    case "server_tool_use":
      return [
        { ...block, input: {} },
        pieces(JSON.stringify(block.input)).map((partial_json) => ({
          type: "input_json_delta",
          partial_json,
        })),
      ];
    default:
      return [block, []];
  }
}

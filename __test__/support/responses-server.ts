/** OpenAI's responses: its event stream, and what it refuses in the next request. */
import { isDeepStrictEqual } from "node:util";
import { pieces, type ScriptedReply, type Service, type StreamEvent } from "./model-server.js";

export type Item =
  | { type: "reasoning"; id: string; summary: string[]; encrypted_content: string }
  | { type: "message"; id: string; text: string }
  | { type: "function_call"; id: string; call_id: string; name: string; arguments: string }
  | ({ type: "mcp_approval_request" } & McpCall)
  | ({ type: "mcp_call"; approval_request_id?: string; output?: string; error?: string } & McpCall)
  /** What a server offers: it may be left out, and is then looked up again. */
  | {
      type: "mcp_list_tools";
      id: string;
      server_label: string;
      tools: { name: string; input_schema: object }[];
    };

interface McpCall {
  id: string;
  server_label: string;
  name: string;
  arguments: string;
}

export interface ResponsesReply extends ScriptedReply {
  output: Item[];
  /** The reason of an incomplete response. */
  incomplete?: string;
  /** The response fails after its output. */
  failed?: { code: string; message: string };
}

type Loose = { type?: string; role?: string; [field: string]: unknown };
export interface ResponsesBody {
  model: string;
  store?: boolean;
  include?: string[];
  input: Loose[];
}

export class ResponsesService implements Service<ResponsesBody, ResponsesReply> {
  readonly #sent: Item[][] = [];
  #responses = 0;

  error(_status: number, message: string): object {
    return { error: { message, type: "invalid_request_error", param: "input", code: null } };
  }

  faults(body: ResponsesBody, headers: { [name: string]: unknown }, path: string): string[] {
    const faults: string[] = [];
    if (path !== "/v1/responses") faults.push(`Unknown request URL ${path}`);
    if (!headers.authorization) faults.push("Missing bearer authentication in header");
    const returned: Item[] = [];
    const open: unknown[] = [];
    const unapproved: string[] = [];
    body.input.forEach((item, index) => {
      const place = `input[${index}]`;
      if (item.type === "function_call_output") {
        const at = open.indexOf(item.call_id);
        if (at < 0)
          faults.push(`No tool call found for function call output with call_id ${String(item.call_id)}.`);
        else open.splice(at, 1);
        if (typeof item.output !== "string") faults.push(`${place}.output: expected a string`);
      } else if (item.type === "mcp_approval_response") {
        const at = unapproved.indexOf(String(item.approval_request_id));
        if (at < 0)
          faults.push(`${place}: no MCP approval request '${String(item.approval_request_id)}' is open.`);
        else unapproved.splice(at, 1);
        if (typeof item.approve !== "boolean") faults.push(`${place}.approve: expected a boolean`);
      } else if (item.type === "item_reference" || item.type === "reasoning" || is_of_model(item)) {
        const known = this.#known(item, body, faults);
        if (known) returned.push(known);
        if (known?.type === "mcp_approval_request") unapproved.push(known.id);
        if (known?.type === "function_call" || item.type === "function_call")
          open.push(known?.type === "function_call" ? known.call_id : item.call_id);
      } else if (open.length > 0) {
        faults.push(`No tool output found for function call ${String(open[0])}.`);
      }
    });
    for (const id of open) faults.push(`No tool output found for function call ${String(id)}.`);
    for (const id of unapproved) faults.push(`The MCP approval request ${id} does not have an approval.`);
    faults.push(...this.#pairing_faults(returned));
    return faults;
  }

  /** The item that was sent, if this is it. */
  #known(item: Loose, { store }: ResponsesBody, faults: string[]): Item | undefined {
    const of_item = (sent: Item): boolean => {
      if (item.type === "item_reference") return sent.id === item.id;
      if (item.type === "reasoning") return sent.type === "reasoning" && sent.id === item.id;
      if (item.type === "function_call")
        return sent.type === "function_call" && sent.call_id === item.call_id;
      return sent.type === "message" && sent.text === text_of(item);
    };
    const sent = this.#sent.flat().find(of_item);
    const id = String(item.id ?? item.call_id);
    if (!sent) {
      // What refers to nothing is taken as it is, a thought excepted.
      if (item.type !== "reasoning" && item.id === undefined) return undefined;
      faults.push(`Item with id '${id}' not found.`);
      return undefined;
    }
    if (item.type === "item_reference" && store === false)
      faults.push(`Item with id '${id}' not found. Items are not persisted when \`store\` is set to false.`);
    if (item.type === "reasoning" && sent.type === "reasoning") {
      const summary = (item.summary as { text: string }[]).map(({ text }) => text);
      if (item.encrypted_content !== sent.encrypted_content)
        faults.push(`The encrypted content for item ${id} could not be verified.`);
      if (
        !isDeepStrictEqual(
          summary,
          sent.summary.filter((text) => text !== ""),
        )
      )
        faults.push(`The summary of item ${id} was changed.`);
    }
    if (item.type === "function_call" && sent.type === "function_call" && item.arguments !== sent.arguments)
      faults.push(`The arguments of ${id} were changed.`);
    return sent;
  }

  /** What one response held belongs together, and in its order. */
  #pairing_faults(returned: readonly Item[]): string[] {
    return this.#sent.flatMap((output) => {
      const sent = output.filter(({ type }) => type !== "mcp_list_tools");
      const kept = returned.filter((item) => sent.includes(item));
      const lost = sent.find((item) => !kept.includes(item));
      if (kept.length === 0 || isDeepStrictEqual(kept, sent)) return [];
      return [
        `Item '${kept[0]?.id}' of type '${kept[0]?.type}' was provided without its required item, ` +
          `or in another order: '${lost?.id}'.`,
      ];
    });
  }

  events(reply: ResponsesReply, { model, store }: ResponsesBody): StreamEvent[] {
    const { output, incomplete, failed } = reply;
    this.#responses += 1;
    const id = `resp_${this.#responses}`;
    // A response that does not complete is not kept; what is encrypted needs no keeping.
    const completes = !failed && reply.end_after === undefined && reply.cut_after === undefined;
    if (completes || store === false) this.#sent.push(output);
    const usage = {
      input_tokens: 12,
      input_tokens_details: { cached_tokens: 2 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 1 },
    };
    const response = { id, created_at: 1, model, usage, incomplete_details: null };
    const end = (): Loose => {
      if (failed) return { type: "response.failed", response: { ...response, error: failed } };
      if (incomplete)
        return {
          type: "response.incomplete",
          response: { ...response, incomplete_details: { reason: incomplete } },
        };
      return { type: "response.completed", response };
    };
    const events = [
      { type: "response.created", response },
      ...output.flatMap((item, index) => item_events(item, index, store !== false)),
      end(),
    ];
    return events.map((event, sequence_number) => ({
      event: event.type,
      data: { ...event, sequence_number },
    }));
  }
}

function is_of_model({ type, role }: Loose): boolean {
  return type === "function_call" || role === "assistant";
}

function text_of({ content }: Loose): string {
  if (typeof content === "string") return content;
  return (content as { text: string }[]).map(({ text }) => text).join("");
}

function item_events(item: Item, output_index: number, is_stored: boolean): Loose[] {
  const { id: item_id } = item;
  const around = (added: object, deltas: Loose[], done: object): Loose[] => [
    { type: "response.output_item.added", output_index, item: { ...added, id: item_id } },
    ...deltas.map((delta) => ({ ...delta, item_id, output_index })),
    { type: "response.output_item.done", output_index, item: { ...done, id: item_id } },
  ];
  if (item.type === "reasoning") {
    // Only who keeps no responses gets the encrypted form.
    const encrypted_content = is_stored ? null : item.encrypted_content;
    const summary = item.summary.map((text) => ({ type: "summary_text", text }));
    const deltas = item.summary.flatMap((text, summary_index): Loose[] => [
      { type: "response.reasoning_summary_part.added", summary_index },
      ...pieces(text).map((delta) => ({
        type: "response.reasoning_summary_text.delta",
        summary_index,
        delta,
      })),
      { type: "response.reasoning_summary_part.done", summary_index },
    ]);
    const added = { type: "reasoning", summary: [], encrypted_content };
    return around(added, deltas, { type: "reasoning", summary, encrypted_content });
  }
  if (item.type === "message") {
    const content = [{ type: "output_text", text: item.text, annotations: [] }];
    const deltas = pieces(item.text).map((delta) => ({ type: "response.output_text.delta", delta }));
    const message = { type: "message", role: "assistant" };
    return around({ ...message, content: [] }, deltas, { ...message, status: "completed", content });
  }
  if (item.type === "mcp_list_tools" || item.type === "mcp_approval_request") return around(item, [], item);
  if (item.type === "mcp_call")
    return around({ ...item, status: "in_progress" }, [], { ...item, status: "completed" });
  const deltas = pieces(item.arguments).map((delta) => ({
    type: "response.function_call_arguments.delta",
    delta,
  }));
  return around({ ...item, arguments: "" }, deltas, { ...item, status: "completed" });
}

/** What a strict chat-completions provider refuses. */

export interface ChatCall {
  id?: unknown;
  function?: { name?: unknown; arguments?: unknown };
}

export interface ChatMessage {
  role: string;
  content?: unknown;
  tool_calls?: ChatCall[];
  tool_call_id?: unknown;
}

/** Every fault of a conversation; empty where it is taken. */
export function chat_faults(messages: readonly ChatMessage[]): string[] {
  const faults: string[] = [];
  let open: unknown[] = [];
  messages.forEach((message, index) => {
    const place = `messages[${index}]`;
    if (message.role === "tool") {
      const at = open.indexOf(message.tool_call_id);
      if (at < 0) faults.push(`${place} answers the unknown call ${String(message.tool_call_id)}`);
      else open.splice(at, 1);
      if (is_empty(message.content)) faults.push(`${place} has no content`);
    } else {
      for (const id of open) faults.push(`${place}: call ${String(id)} has no tool message before it`);
      open = message.role === "assistant" ? calls_of(message, place, faults) : [];
      if (message.role !== "assistant" && is_empty(message.content)) faults.push(`${place} has no content`);
    }
    if (!is_well_formed(message)) faults.push(`${place} holds half a character`);
  });
  for (const id of open) faults.push(`call ${String(id)} has no tool message`);
  return faults;
}

function calls_of(message: ChatMessage, place: string, faults: string[]): unknown[] {
  const calls = message.tool_calls ?? [];
  if (calls.length === 0 && is_empty(message.content)) faults.push(`${place} has neither content nor calls`);
  const ids = calls.map(({ id }) => id);
  if (new Set(ids).size !== ids.length) faults.push(`${place} repeats a call id`);
  for (const { id, function: called } of calls) {
    if (typeof id !== "string" || id === "") faults.push(`${place} has a call without id`);
    if (typeof called?.name !== "string" || called.name === "")
      faults.push(`${place} has a call without name`);
    if (!is_object_text(called?.arguments)) faults.push(`${place} has arguments that are no object`);
  }
  return ids;
}

function is_empty(content: unknown): boolean {
  if (Array.isArray(content)) return content.length === 0 || content.some(({ text }) => text === "");
  return typeof content !== "string" || content.trim() === "";
}

function is_object_text(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** JSON writes half a character as an escape; encoding the text itself refuses it. */
function is_well_formed(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(is_well_formed);
  if (typeof value !== "string") return true;
  try {
    return encodeURIComponent(value).length >= value.length;
  } catch {
    return false;
  }
}

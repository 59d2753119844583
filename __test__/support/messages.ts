/** Messages as the core hands them out, for tests of what is made of them. */
import type { AssistantMessage, Message, Part, ToolPart, UserMessage } from "../../types/message.js";

let made = 0;
const next = (): number => {
  made += 1;
  return made;
};

const base = (id: string) => ({
  message_id: id,
  session_id: "session",
  turn_id: "turn",
  sequence: next(),
  revision: 1,
  state: "done" as const,
  created_at: 0,
  updated_at: 0,
});

/** Any Part without its ids. */
export type LoosePart = { type: string; [field: string]: unknown };

const numbered = (parts: LoosePart[], step_id?: string): Part[] =>
  parts.map((part) => ({ part_id: `part:${next()}`, sequence: made, step_id, ...part }) as unknown as Part);

export function user(...parts: (LoosePart | string)[]): UserMessage {
  const list = parts.map((part) =>
    typeof part === "string" ? { type: "text", text: part, state: "done" } : part,
  );
  return { ...base(`message:${next()}`), role: "user", parts: numbered(list) as UserMessage["parts"] };
}

/** One step of an assistant Message; give the same `message_id` for further steps of it. */
export function assistant(
  step_id: string,
  parts: LoosePart[],
  message_id = `message:${next()}`,
): AssistantMessage {
  return { ...base(message_id), role: "assistant", parts: numbered(parts, step_id) };
}

export const text = (content: string, provider_metadata?: unknown): LoosePart => ({
  type: "text",
  text: content,
  state: "done",
  provider_metadata,
});

export const reasoning = (content: string, provider_metadata?: unknown): LoosePart => ({
  ...text(content, provider_metadata),
  type: "reasoning",
});

export function tool(tool_call_id: string, fields: Partial<ToolPart>): LoosePart {
  return { type: "tool", tool_call_id, tool_name: "write", state: "completed", input: {}, ...fields };
}

/** The content of a prompt's message, as far as a test looks at it. */
export function content_of<Content>(message: { content: unknown } | undefined): Content[] {
  if (!Array.isArray(message?.content)) throw new Error("The prompt has no such message.");
  return message.content as Content[];
}

export type { Message };

// What is made for the AI SDK fits its types, and what must not compile does not. Checked by tsc alone.
import type { Agent, Mutation, Session, SessionInteraction, TurnHandle } from "@downcity/agent";
import {
  respond_from_ui,
  to_ui_message_stream,
  to_ui_messages,
  to_ui_response,
  type UiMessage,
  type UiMessageChunk,
  type UiQuestionPart,
  type UiResponses,
} from "@downcity/agent/ai-sdk";
import { type ChatTransport, getToolName, isToolUIPart, type UIMessage, type UIMessageChunk } from "ai";

declare const session: Session;
declare const agent: Agent;
declare const turn: TurnHandle;

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assert_type<_Claim extends true>(): void {}

/** Version 6 has no chunk for an answer that was given elsewhere, and no reasoning files. */
type ForSix = Exclude<UiMessageChunk, { type: "tool-approval-response" }>;
type WithoutReasoningFiles = ForSix extends infer Chunk
  ? Chunk extends { type: "file" | "reasoning-file" }
    ? Omit<Chunk, "type"> & { type: "file" }
    : Chunk
  : never;

export function ui_messages_and_chunks_are_those_of_the_ai_sdk(chunk: WithoutReasoningFiles): void {
  const messages: UIMessage[] = to_ui_messages([]);
  const chunks: UIMessageChunk[] = [chunk];
  const transport = {} as ChatTransport<UiMessage>;
  for (const part of messages.flatMap((message) => message.parts)) if (isToolUIPart(part)) getToolName(part);
  assert_type<Same<typeof transport extends ChatTransport<UiMessage> ? true : false, true>>();
  void chunks;
}

export function streams_and_responses(): void {
  const stream: ReadableStream<UiMessageChunk> = to_ui_message_stream(session, {
    turn,
    until: "waiting",
    ai: 7,
  });
  const response: Response = to_ui_response(session, { turn: turn.id, after_revision: 3 });
  void [stream, response];
  // @ts-expect-error There is no such place to end.
  to_ui_message_stream(session, { until: "ever" });
  // @ts-expect-error There is no such version.
  to_ui_message_stream(session, { ai: 5 });
  // @ts-expect-error A Session is needed, not its id.
  to_ui_response(session.id);
}

export async function answers(messages: UiMessage[], question: UiQuestionPart): Promise<void> {
  const committed = await respond_from_ui(session, { id: question.id, approved: true, reason: "fine" });
  assert_type<Same<typeof committed, SessionInteraction>>();
  await respond_from_ui(session, { id: question.id, answers: [{ question_id: "q", value: ["a", "b"] }] });
  const given = await respond_from_ui(session, messages);
  assert_type<Same<typeof given, UiResponses>>();
  await respond_from_ui(session, { messages });
  // @ts-expect-error It is neither approved nor answered.
  await respond_from_ui(session, { id: question.id });
  // @ts-expect-error An answer is a string or a list of strings.
  await respond_from_ui(session, { id: question.id, answers: [{ question_id: "q", value: 1 }] });
}

export function an_agents_listener(): void {
  const unsubscribe = agent.subscribe((mutation) => assert_type<Same<typeof mutation, Mutation>>());
  unsubscribe();
  // @ts-expect-error It takes a function.
  agent.subscribe("inbox");
}

// What must and what must not compile. Checked by tsc alone; nothing here runs.
import {
  Agent,
  type AgentModel,
  define_agent_tool,
  type Interaction,
  type Message,
  type Mutation,
  memory,
  type QuestionInput,
  type SESSION_APPROVAL_RESPONSE_SCHEMA,
  type Session,
  SessionError,
  type SessionInteraction,
  type ShellResult,
  ShellSession,
  ShellTool,
  sqlite,
  type TurnHandle,
  Workspace,
  with_approval,
} from "@downcity/agent";
import { tool } from "ai";
import { z } from "zod";

declare const session: Session;
declare const model: AgentModel;
declare const interaction_id: string;
declare function show(value: unknown): void;

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function assert_type<_Claim extends true>(): void {}

export function a_tool_part_is_narrowed_from_a_mutation(mutation: Mutation): SessionInteraction | undefined {
  if (mutation.variant !== "part" || mutation.part.type !== "tool") return undefined;
  assert_type<Same<typeof mutation.part.tool_call_id, string>>();
  return (mutation.part.interactions ?? []).find((item) => item.status === "pending");
}

export function every_mutation_is_told_apart(mutation: Mutation): string {
  switch (mutation.variant) {
    case "message":
      return mutation.message.message_id;
    case "part":
      return mutation.part.part_id;
    case "delta":
      return mutation.delta;
    case "turn":
      return mutation.type === "finish" ? (mutation.text ?? "") : mutation.turn_id;
    case "session":
      return mutation.type === "config" ? mutation.security.approval_mode : mutation.session_id;
    default:
      return mutation satisfies never;
  }
}

export function a_message_is_told_apart_by_its_role(message: Message): string {
  if (message.role === "assistant") return message.parts.map((part) => part.type).join();
  // @ts-expect-error a user Message has no tool Parts
  message.parts.find((part) => part.type === "tool");
  return message.message_id;
}

export async function pending_interactions_are_told_apart(): Promise<void> {
  for (const request of await session.interactions()) {
    if (request.type === "approval") show(request.payload.validated_input);
    else show(request.payload.questions.map((question) => question.question_id));
  }
}

interface Vote extends Interaction<"vote", { choices: string[] }, { choice: string }> {}

export async function another_producers_type_is_named(turn_id: string): Promise<void> {
  const handle = await session.interactions.request<Vote>({
    type: "vote",
    turn_id,
    payload: { choices: [] },
  });
  const vote = await handle.result;
  assert_type<Same<typeof vote, Vote>>();
  if (vote.response?.outcome === "resolved") show(vote.response.payload.choice satisfies string);

  const votes = await session.interactions<Vote>();
  assert_type<Same<typeof votes, Vote[]>>();
  await session.respond<Vote>({
    interaction_id,
    response: { type: "vote", outcome: "resolved", payload: { choice: "a" } },
  });
  await session.respond<Vote>({
    interaction_id,
    response: { type: "vote", outcome: "denied", reason: "no" },
  });

  // @ts-expect-error a type that nobody named
  await session.interactions.request({ type: "vote", turn_id, payload: { choices: [] } });
  // @ts-expect-error a type that nobody named
  await session.respond({ interaction_id, response: { type: "vote", outcome: "resolved", payload: {} } });
  await session.respond<Vote>({
    interaction_id,
    // @ts-expect-error the answer of another type
    response: { type: "vote", outcome: "resolved", payload: { decision: "approved" } },
  });
}

export async function answers_fit_their_type(): Promise<void> {
  await session.respond({ interaction_id, response: { type: "approval", outcome: "denied" } });
  await session.respond({
    interaction_id,
    response: { type: "approval", outcome: "resolved", payload: { decision: "approved", note: "fine" } },
  });
  // @ts-expect-error a resolved answer has a payload
  await session.respond({ interaction_id, response: { type: "approval", outcome: "resolved" } });
  await session.respond({
    interaction_id,
    // @ts-expect-error no such decision
    response: { type: "approval", outcome: "resolved", payload: { decision: "yes" } },
  });
  await session.respond({
    interaction_id,
    // @ts-expect-error a question is answered with answers
    response: { type: "question", outcome: "resolved", payload: { decision: "approved" } },
  });
  // @ts-expect-error no such outcome
  await session.respond({ interaction_id, response: { type: "approval", outcome: "accepted", payload: {} } });
}

export async function questions_are_asked(turn_id: string, questions: QuestionInput[]): Promise<void> {
  const handle = await session.interactions.request({ type: "question", turn_id, payload: { questions } });
  await handle.result;
  await session.interactions.request({
    type: "question",
    turn_id,
    // @ts-expect-error no such type of question
    payload: { questions: [{ question: "Where?", type: "select" }] },
  });
  // @ts-expect-error the Turn has to be named
  await session.interactions.request({ type: "question", payload: { questions } });
}

export async function literals_are_checked(): Promise<void> {
  await session.set({ security: { approval_mode: "ask" } });
  await session.set({ model }, { persist_action: false, publish_mutation: false });
  // @ts-expect-error a misspelt mode
  await session.set({ security: { approval_mode: "alwys" } });
  // @ts-expect-error an unknown key
  await session.set({ secrity: { approval_mode: "ask" } });
  sqlite("sessions.db", { synchronous: "normal" });
  // @ts-expect-error a misspelt setting
  sqlite("sessions.db", { synchronous: "ful" });
  // @ts-expect-error storage comes from a constructor
  new Agent({ id: "a", storage: {} });
  // @ts-expect-error an unknown option
  new Agent({ id: "a", max_step: 3 });
}

export function a_schema_types_the_input(): Agent {
  const delete_file = define_agent_tool({
    input_schema: z.object({ path: z.string(), depth: z.coerce.number().default(1) }),
    execute: async (input, context) => {
      assert_type<Same<typeof input, { path: string; depth: number }>>();
      assert_type<Same<typeof context.abort_signal, AbortSignal>>();
      const decision = await context.interactions.approval.request({ payload: { operation: "tool" } });
      return { deleted: decision.approved ? input.path : null };
    },
  });
  const list_files = define_agent_tool({
    input_schema: { type: "object", properties: { path: { type: "string" } } },
    execute: (input) => {
      assert_type<Same<typeof input, { [property: string]: unknown }>>();
      return input.path;
    },
  });
  define_agent_tool({
    input_schema: z.object({}),
    execute: () => null,
    // @ts-expect-error the one word there is for it is "replay"
    resume: "always",
  });
  const gated = with_approval(delete_file, {
    when: (input, call) => input.depth > 1 && call.tool_name !== "",
  });
  const foreign = tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city });
  with_approval(delete_file, {
    // @ts-expect-error the input has no such field
    when: (input) => input.size > 1,
  });
  return new Agent({
    id: "a",
    model,
    tools: { delete_file, list_files, gated, foreign, gated_foreign: with_approval(foreign) },
    storage: memory(),
  });
}

export function the_shell_takes_its_options_and_no_others(): Agent {
  const shell = new ShellTool({
    sandbox: true,
    timeout: 1000,
    max_output: 1000,
    env: { CI: "1", TOKEN: true },
  });
  // @ts-expect-error there is no such option
  new ShellTool({ shell: "/bin/zsh" });
  // @ts-expect-error a variable is a text, or that of this process
  new ShellTool({ env: { CI: 1 } });
  // @ts-expect-error a process ends when it is stopped
  new ShellSession({ timeout: 1000 });
  assert_type<Same<ShellResult["exit_code"], number | null>>();
  const processes = new ShellSession();
  const tools = { shell, asked: with_approval(new ShellTool()), ...processes.tools };
  return new Agent({ id: "a", model, tools, storage: memory() });
}

export async function handles_and_errors(agent: Agent): Promise<void> {
  const workspace = new Workspace({ id: "w", path: "." });
  const opened = await agent.sessions.create({ workspace, security: { approval_mode: "always-allow" } });
  const turn: TurnHandle = await opened.prompt({ query: [{ type: "text", text: "hi" }] });
  const result = await turn.finished;
  assert_type<Same<typeof result.status, "completed" | "failed" | "stopped" | "detached">>();
  assert_type<Same<(typeof SESSION_APPROVAL_RESPONSE_SCHEMA)["required"], readonly ["decision"]>>();
  for await (const mutation of opened.mutations()) show(mutation.revision_of_session);
  try {
    await opened.stop();
  } catch (error) {
    if (error instanceof SessionError && error.code === "SESSION_CLOSED") show(error.issues);
  }
}

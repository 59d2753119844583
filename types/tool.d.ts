/** Tools, the schemas of their input, and what a running tool is given. */
import type { Workspace } from "../index.js";
import type {
  ApprovalDecision,
  Interaction,
  InteractionHandle,
  JsonSchema,
  SessionInteraction,
  ToolApprovalRequest,
  ToolInteractionRequest,
} from "./interaction.js";

/** The part of the Standard Schema contract that is used here; zod, valibot and arktype implement it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A JSON Schema as a library types it; TypeBox's `static` says what it takes. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties: object;
}

/** Any Standard Schema, whose own parse decides, or a JSON Schema object. */
export type ToolSchema = StandardSchema | JsonSchema | ObjectSchema;

/** What `execute` receives: the schema's output, or a JSON object where the schema is a JSON Schema. */
export type ToolInput<Schema> = Schema extends StandardSchema
  ? NonNullable<Schema["~standard"]["types"]>["output"]
  : Schema extends ObjectSchema & { readonly static: infer Static }
    ? Static
    : { [property: string]: unknown };

/** Asks a person on behalf of a tool call; the ids of the call are filled in. */
export interface ToolInteractions {
  /** @throws SessionError `TOOL_CALL_NOT_ACTIVE`, `INVALID_INPUT`, `REPLAY_MISMATCH` */
  request<T extends Interaction = SessionInteraction>(
    input: ToolInteractionRequest<T>,
  ): Promise<InteractionHandle<T>>;
  approval: {
    /**
     * Waits for a person, or passes at once where the approval mode allows it.
     * Rejects with an `AbortError` when the wait is cancelled.
     */
    request(input: ToolApprovalRequest): Promise<ApprovalDecision>;
  };
}

/** Names the tool call. */
export interface ToolCallInfo {
  session_id: string;
  turn_id: string;
  step_id: string;
  tool_call_id: string;
  tool_name: string;
  /** The Workspace the Session was opened with. */
  workspace: Workspace | null;
}

export interface ToolContext extends ToolCallInfo {
  /** Aborted when the Turn stops or the Session closes. */
  abort_signal: AbortSignal;
  /** True when a replay tool is entered again after a crash, a detach or a take-over. */
  resumed: boolean;
  interactions: ToolInteractions;
}

/** A tool the model can call. The result follows JSON; `undefined` becomes null. */
export interface AgentTool<Schema extends ToolSchema = ToolSchema, Output = unknown> {
  description?: string;
  title?: string;
  input_schema: Schema;
  /** May be an `async *` generator: what it yields is preliminary, what it returns (else the last yielded) counts. */
  execute(input: ToolInput<Schema>, context: ToolContext): Output | PromiseLike<Output>;
  /** Lets `execute` be entered again after a crash; what it asked before is then answered from the record. */
  resume?: "replay";
  /** Shows the model one more optional string, `model_explanation`, for people to read. */
  explain?: boolean;
}

/** A tool made with the AI SDK's `tool()`, of lines 5 to 7, taken as it is. Its `needsApproval` is a gate. */
export interface AiSdkTool {
  inputSchema: unknown;
  execute?(input: never, options: never): unknown;
}

/**
 * A tool that a provider defines, such as `openai.tools.webSearch({})`, taken as it is. Without an `execute` the provider
 * runs it; then nothing can be put before it.
 */
export interface ProviderDefinedTool {
  type: "provider" | "provider-defined";
  /** `<provider>.<tool>` */
  id: string;
  args: unknown;
  inputSchema?: unknown;
  execute?(input: never, options: never): unknown;
}

/** Any tool an Agent accepts. */
export type AnyTool = AgentTool | AiSdkTool | ProviderDefinedTool;

type InputOf<Tool> = Tool extends { input_schema: infer Schema }
  ? ToolInput<Schema>
  : Tool extends { execute?(input: infer Input, options: never): unknown }
    ? Input
    : unknown;

export interface GateOptions<Tool> {
  /** Asked once per call with the validated input; anything but a plain `false` asks a person. */
  when?(input: InputOf<Tool>, context: ToolCallInfo): boolean | PromiseLike<boolean>;
}

/** Types a tool: the schema's output becomes the input of `execute`. */
export declare function define_agent_tool<Schema extends ToolSchema, Output>(
  definition: AgentTool<Schema, Output>,
): AgentTool<Schema, Output>;

/** Puts an approval before a tool's `execute`. A denied call fails with the reason; a restart does not lose it. */
export declare function with_approval<Tool extends AnyTool>(tool: Tool, options?: GateOptions<Tool>): Tool;

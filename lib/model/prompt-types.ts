/** The AI SDK's prompt as far as it is made here, in specification v2, v3 and v4. */
import type { JsonObject, JsonValue } from "../json.js";

interface WithOptions {
  providerOptions?: JsonObject;
}

export interface TextContent extends WithOptions {
  type: "text";
  text: string;
}

export interface ReasoningContent extends WithOptions {
  type: "reasoning";
  text: string;
}

/** Base64 or a URL: bare in v2 and v3, tagged in v4. */
export type FileData = string | URL | { type: "data"; data: string } | { type: "url"; url: URL };

export interface FileContent extends WithOptions {
  type: "file";
  mediaType: string;
  data: FileData;
  filename?: string;
}

/** Since v4: a file within the model's reasoning. */
export interface ReasoningFileContent extends WithOptions {
  type: "reasoning-file";
  mediaType: string;
  data: FileData;
}

export interface ToolCallContent extends WithOptions {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: JsonObject;
  providerExecuted?: true;
}

export type ToolOutput =
  | { type: "text"; value: string }
  | { type: "json"; value: JsonValue }
  | { type: "error-text"; value: string }
  | { type: "error-json"; value: JsonValue }
  /** What a tool wants to be shown: texts and files in the specification's own shape. */
  | { type: "content"; value: object[] }
  /** Since v3. */
  | { type: "execution-denied"; reason: string };

export interface ToolResultContent extends WithOptions {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: ToolOutput;
}

/** Since v3: what a provider is told that wants its own call to be approved. */
export interface ApprovalResponseContent {
  type: "tool-approval-response";
  approvalId: string;
  approved: boolean;
  reason?: string;
}

export type AssistantContent =
  | TextContent
  | ReasoningContent
  | FileContent
  | ReasoningFileContent
  | ToolCallContent
  | ToolResultContent;

export type PromptMessage =
  | { role: "system"; content: string }
  | { role: "user"; content: (TextContent | FileContent)[] }
  | { role: "assistant"; content: AssistantContent[] }
  | { role: "tool"; content: (ToolResultContent | ApprovalResponseContent)[] };

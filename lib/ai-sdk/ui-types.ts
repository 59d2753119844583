/**
 * The UI messages and stream chunks of the AI SDK, as far as a Session makes them. Written down here, so that
 * the package needs no `ai`: they are assignable to its `UIMessage` and `UIMessageChunk`, of version 6 and of 7.
 */
import type { Interaction } from "../../index.js";

/** What stands in `metadata` of every UI message. */
export interface UiMetadata {
  session_id: string;
  /** Not set for what was said outside any Turn. */
  turn_id?: string;
  /** Milliseconds since the epoch. */
  created_at?: number;
  /**
   * How far this copy of the message goes; pass it as `after_revision` to go on from here. A stream sets it
   * when it ends or pauses.
   */
  revision_of_session?: number;
}

export interface UiTextPart {
  type: "text";
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: UiProviderMetadata;
}

export interface UiReasoningPart {
  type: "reasoning";
  id?: string;
  text: string;
  state?: "streaming" | "done";
  providerMetadata?: UiProviderMetadata;
}

export interface UiFilePart {
  type: "file";
  mediaType: string;
  /** An address, or a `data:` URL. */
  url: string;
  filename?: string;
  providerMetadata?: UiProviderMetadata;
}

export interface UiSourceUrlPart {
  type: "source-url";
  sourceId: string;
  url: string;
  title?: string;
  providerMetadata?: UiProviderMetadata;
}

export interface UiSourceDocumentPart {
  type: "source-document";
  sourceId: string;
  mediaType: string;
  title: string;
  filename?: string;
  providerMetadata?: UiProviderMetadata;
}

export interface UiStepStartPart {
  type: "step-start";
}

/**
 * JSON of its own kind:
 * - `data-question`, `data-approval`, `data-interaction`: an Interaction, in the shape it has everywhere; `id`
 *   is its `interaction_id`
 * - `data-action`: `{ title, description }`, such as a change of the configuration
 * - `data-error`: `{ error_code, message }`
 * - `data-<name>`: a producer's own data Part
 */
export interface UiDataPart<Data = unknown> {
  type: `data-${string}`;
  id?: string;
  data: Data;
}

/** A question: `data` is the Interaction. A client that answers by sending its messages adds `answers`. */
export interface UiQuestionPart
  extends UiDataPart<Interaction & { answers?: { question_id: string; value: string | string[] }[] }> {
  type: "data-question";
  id: string;
}

export type UiToolPart = {
  type: `tool-${string}`;
  toolCallId: string;
  title?: string;
  providerExecuted?: boolean;
} & UiToolState;

interface CallMetadata {
  callProviderMetadata?: UiProviderMetadata;
}

/** `approval.id` is the `interaction_id`. */
export type UiToolState = CallMetadata &
  (
    | { state: "input-streaming"; input?: unknown; rawInput?: string }
    | { state: "input-available"; input: unknown }
    | { state: "approval-requested"; input: unknown; approval: { id: string } }
    | { state: "approval-responded"; input: unknown; approval: UiApproval<boolean> }
    | {
        state: "output-available";
        input: unknown;
        output: unknown;
        preliminary?: boolean;
        approval?: UiApproval<true>;
      }
    | { state: "output-error"; input: unknown; errorText: string; approval?: UiApproval<true> }
    | { state: "output-denied"; input: unknown; approval: UiApproval<false> }
  );

export interface UiApproval<Approved extends boolean> {
  id: string;
  approved: Approved;
  reason?: string;
}

export type UiPart =
  | UiTextPart
  | UiReasoningPart
  | UiFilePart
  | UiSourceUrlPart
  | UiSourceDocumentPart
  | UiStepStartPart
  | UiDataPart
  | UiToolPart;

/** A Message of a Session as an AI SDK client shows it. */
export interface UiMessage {
  /** The `message_id`. */
  id: string;
  role: "user" | "assistant";
  metadata?: UiMetadata;
  parts: UiPart[];
}

type Metadata = { providerMetadata?: UiProviderMetadata };

/** What a provider attached, as the AI SDK types it. */
export type UiProviderMetadata = { [provider: string]: { [key: string]: UiJson } };
export type UiJson = null | string | number | boolean | UiJson[] | { [key: string]: UiJson | undefined };

/** A chunk of a UI message stream. */
export type UiMessageChunk =
  | { type: "start"; messageId: string; messageMetadata: UiMetadata }
  | { type: "start-step" }
  | { type: "finish-step" }
  | { type: "finish"; finishReason?: "stop" | "tool-calls" | "error" | "other"; messageMetadata?: UiMetadata }
  | { type: "abort" }
  | { type: "error"; errorText: string }
  | ({ type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string } & Metadata)
  | ({ type: "text-delta" | "reasoning-delta"; id: string; delta: string } & Metadata)
  | {
      type: "tool-input-start";
      toolCallId: string;
      toolName: string;
      providerExecuted?: boolean;
      title?: string;
    }
  | { type: "tool-input-delta"; toolCallId: string; inputTextDelta: string }
  | ({
      type: "tool-input-available";
      toolCallId: string;
      toolName: string;
      input: unknown;
      providerExecuted?: boolean;
      title?: string;
    } & Metadata)
  | ({
      type: "tool-input-error";
      toolCallId: string;
      toolName: string;
      input: unknown;
      errorText: string;
      providerExecuted?: boolean;
      title?: string;
    } & Metadata)
  | { type: "tool-approval-request"; approvalId: string; toolCallId: string }
  | { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }
  | {
      type: "tool-output-available";
      toolCallId: string;
      output: unknown;
      providerExecuted?: boolean;
      preliminary?: boolean;
    }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; providerExecuted?: boolean }
  | { type: "tool-output-denied"; toolCallId: string }
  | ({ type: "source-url"; sourceId: string; url: string; title?: string } & Metadata)
  | ({
      type: "source-document";
      sourceId: string;
      mediaType: string;
      title: string;
      filename?: string;
    } & Metadata)
  | ({ type: "file" | "reasoning-file"; url: string; mediaType: string } & Metadata)
  | { type: `data-${string}`; id?: string; data: unknown };

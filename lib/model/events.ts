/** What the core is told about a model's stream. `ref` numbers the parts of one stream. */
import type { JsonObject, JsonValue } from "../json.js";

export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

/** Counts are left out where the provider did not tell them. */
export interface ModelUsage {
  input_tokens?: number;
  output_tokens?: number;
  total_tokens?: number;
  reasoning_tokens?: number;
  cached_input_tokens?: number;
}

export interface CallStart {
  ref: number;
  tool_name: string;
  /** Only where the Session has not used the id before. */
  tool_call_id?: string;
  /** The provider's id, where it could not be kept. */
  provider_tool_call_id?: string;
  provider_executed?: boolean;
  title?: string;
}

/** What came of a call that the provider ran itself. */
export interface ProviderResult {
  /** Beside an `error`: that error as the provider's own data. */
  output?: JsonValue;
  error?: string;
  provider_metadata?: JsonObject;
}

export type ModelEvent =
  | {
      type: "text_start" | "text_end" | "reasoning_start" | "reasoning_end";
      ref: number;
      provider_metadata?: JsonObject;
    }
  | ({ type: "tool_input_start" } & CallStart)
  | ({
      type: "tool_call";
      /** The arguments, where they are a JSON object. */
      input?: JsonObject;
      /** The arguments as they came, where they are not; `problem` says why. */
      input_text?: string;
      problem?: string;
      provider_metadata?: JsonObject;
    } & CallStart)
  | ({ type: "tool_result"; ref: number } & ProviderResult)
  /** The result of a call that the provider began in an earlier step. */
  | ({ type: "late_tool_result"; provider_tool_call_id: string } & ProviderResult)
  /** The provider does not run its call before a person has agreed. */
  | { type: "approval_request"; ref: number; approval_id: string }
  | {
      type: "file";
      media_type: string;
      url?: string;
      data?: string;
      /** It belongs to the model's reasoning. */
      reasoning?: true;
      provider_metadata?: JsonObject;
    }
  | {
      type: "source";
      source_type: string;
      source_id?: string;
      url?: string;
      title?: string;
      media_type?: string;
      filename?: string;
      provider_metadata?: JsonObject;
    }
  | {
      type: "finish";
      reason: FinishReason;
      usage: ModelUsage;
      /** The provider itself said nothing of an end: the answer may lack its rest. */
      unconfirmed?: true;
    }
  | {
      type: "failed";
      message: string;
      code: "MODEL_FAILED" | "MODEL_MISSING";
      retryable: boolean;
      retry_after_ms?: number;
    };

/** Where a stream's events go, in order, synchronously. */
export interface ModelSink {
  event(event: ModelEvent): void;
  /** A fragment of text, reasoning or arguments; well formed by itself and never empty. */
  delta(ref: number, text: string): void;
}

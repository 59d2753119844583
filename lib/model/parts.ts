/** Reads single parts of a model's stream leniently: a missing or odd field never ends the stream. */
import { type Fields, fields_of } from "../fields.js";
import { JsonError, type JsonObject, normalise, well_formed } from "../json.js";
import type { FinishReason, ModelEvent, ModelUsage } from "./events.js";

export function text_of(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A provider's data as JSON, to be given back unchanged; what JSON cannot hold could not be kept anyway. */
export function metadata_of(value: unknown): JsonObject | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return normalise(value, "providerMetadata").value as JsonObject;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return undefined;
  }
}

/** v2 and v3 have base64 or bytes, v4 says which of base64, bytes and URL it is. */
export function file_of(part: Fields): ModelEvent | undefined {
  const media_type = well_formed(text_of(part.mediaType)) || "application/octet-stream";
  const shared = {
    type: "file" as const,
    media_type,
    ...(part.type === "reasoning-file" ? { reasoning: true as const } : {}),
    provider_metadata: metadata_of(part.providerMetadata),
  };
  const tagged = fields_of(part.data);
  if (tagged.type === "url") return { ...shared, url: well_formed(String(tagged.url)) };
  const data = base64_of(tagged.type === "data" ? tagged.data : part.data);
  return data === undefined ? undefined : { ...shared, data };
}

function base64_of(data: unknown): string | undefined {
  if (typeof data === "string") return well_formed(data);
  if (!ArrayBuffer.isView(data)) return undefined;
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
}

export function source_of(part: Fields): ModelEvent {
  const field = (value: unknown): string | undefined =>
    typeof value === "string" && value !== "" ? well_formed(value) : undefined;
  return {
    type: "source",
    source_type: field(part.sourceType) ?? "url",
    source_id: field(part.id),
    url: field(part.url),
    title: field(part.title),
    media_type: field(part.mediaType),
    filename: field(part.filename),
    provider_metadata: metadata_of(part.providerMetadata),
  };
}

const REASONS = new Set<unknown>(["stop", "length", "content-filter", "tool-calls", "error"]);

/**
 * v2 has a text, v3 and v4 an object with the provider's own word beside it. Nothing where the model says itself that
 * it was interrupted (v4).
 */
export function finish_reason_of(value: unknown): FinishReason | undefined {
  const reason = typeof value === "string" ? value : fields_of(value).unified;
  if (reason === "interrupted") return undefined;
  return REASONS.has(reason) ? (reason as FinishReason) : "other";
}

/**
 * Whether the provider itself gave the reason. Provider packages close a stream that was cut off with a `finish` of
 * their own, which is `unknown` in v2, and `other` without a word of the provider in v3 and v4.
 */
export function is_confirmed(value: unknown): boolean {
  if (typeof value === "string") return value !== "unknown";
  const { unified, raw } = fields_of(value);
  return unified !== "other" || (typeof raw === "string" && raw !== "");
}

/** v2 counts flatly, v3 and v4 by kind. */
export function usage_of(value: unknown): ModelUsage {
  const usage = fields_of(value);
  const input = fields_of(usage.inputTokens);
  const output = fields_of(usage.outputTokens);
  const input_tokens = count(usage.inputTokens) ?? count(input.total);
  const output_tokens = count(usage.outputTokens) ?? count(output.total);
  const known = input_tokens !== undefined || output_tokens !== undefined;
  const sum = known ? (input_tokens ?? 0) + (output_tokens ?? 0) : undefined;
  return {
    input_tokens,
    output_tokens,
    total_tokens: count(usage.totalTokens) ?? sum,
    reasoning_tokens: count(usage.reasoningTokens) ?? count(output.reasoning),
    cached_input_tokens: count(usage.cachedInputTokens) ?? count(input.cacheRead),
  };
}

function count(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
}

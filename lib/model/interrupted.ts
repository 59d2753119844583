/**
 * What of an answer that broke off can go back. OpenAI keeps a response once it is complete, and its package then sends
 * `itemId`s instead of what they stand for: those of a response that never was complete would be refused for good.
 */
import type { Part, ProviderMetadata, ToolPart } from "../../types/message.js";

/** The Parts of a step without references to what the provider may not have kept; as they are where none broke off. */
export function resendable(parts: readonly Part[]): readonly Part[] {
  if (!parts.some(({ interrupted }) => interrupted)) return parts;
  return parts.flatMap((part): Part[] => {
    // It needs nothing the provider keeps.
    if (part.type === "reasoning") return is_reference(part.provider_metadata) ? [] : [part];
    // A provider that wanted an approval has neither kept what it asked nor run the call; nor is a result kept that is
    // known there alone.
    if (part.type === "tool" && (part.provider_approval || is_reference(part.result_metadata))) return [];
    if (!("provider_metadata" in part)) return [part];
    return [{ ...part, provider_metadata: without_items(part.provider_metadata) }];
  });
}

/**
 * Whether the late result of a call is nothing but a reference into an answer that broke off.
 *
 * @param of_answer the Parts of the step in which the result came
 */
export function is_lost_result(part: ToolPart, of_answer: readonly Part[]): boolean {
  const proves_end = ({ type, interrupted }: Part): boolean => OF_MODEL.has(type) && !interrupted;
  return is_reference(part.result_metadata) && !of_answer.some(proves_end);
}

/** What says `interrupted` where an answer broke off. */
const OF_MODEL: ReadonlySet<Part["type"]> = new Set(["text", "reasoning", "tool", "file"]);

/** As it goes back then: told again that the call is approved, the provider would run it a second time. */
export function without_result(part: ToolPart): ToolPart {
  const { provider_approval: approval } = part;
  if (!approval) return part;
  return { ...part, provider_approval: { ...approval, approved: false, reason: RESULT_LOST } };
}

const RESULT_LOST = "The call was run, but the answer it was part of broke off and its result is lost.";

function is_reference(metadata: ProviderMetadata | undefined): boolean {
  const entries = Object.values(metadata ?? {});
  return entries.some(
    ({ itemId, reasoningEncryptedContent }) => typeof itemId === "string" && !reasoningEncryptedContent,
  );
}

function without_items(metadata: ProviderMetadata | undefined): ProviderMetadata | undefined {
  if (metadata === undefined) return undefined;
  const entries = Object.entries(metadata).map(
    ([provider, { itemId: _, ...rest }]) => [provider, rest] as const,
  );
  const kept = entries.filter(([, rest]) => Object.keys(rest).length > 0);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

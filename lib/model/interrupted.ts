/**
 * What of an answer that broke off can go back. OpenAI keeps a response once it is complete, and its package then sends
 * `itemId`s instead of what they stand for: those of a response that never was complete would be refused for good.
 */
import type { Part, ProviderMetadata } from "../../types/message.js";

/** The Parts of a step without references to what the provider may not have kept; as they are where none broke off. */
export function resendable(parts: readonly Part[]): readonly Part[] {
  if (!parts.some(({ interrupted }) => interrupted)) return parts;
  return parts.flatMap((part): Part[] => {
    // It needs nothing the provider keeps.
    if (part.type === "reasoning") return is_reference(part.provider_metadata) ? [] : [part];
    if (!("provider_metadata" in part)) return [part];
    return [{ ...part, provider_metadata: without_items(part.provider_metadata) }];
  });
}

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

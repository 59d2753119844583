/** A stream of a scripted model, gathered into what `doGenerate` gives. */

type StreamPart = { readonly type: string; readonly [field: string]: unknown };

export interface Generated {
  content: object[];
  finishReason: unknown;
  usage: unknown;
  warnings: unknown;
}

/** @throws what the stream fails with, an error part's own error included */
export async function generated(stream: ReadableStream<object>): Promise<Generated> {
  const content: object[] = [];
  const open = new Map<unknown, { type: string; text: string; providerMetadata?: unknown }>();
  let warnings: unknown = [];
  for await (const given of stream) {
    const part = given as StreamPart;
    const [, kind, moment] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type) ?? [];
    if (kind !== undefined && moment === "start") {
      const piece = { type: kind, text: "" };
      open.set(part.id, piece);
      content.push(piece);
    }
    const piece = kind === undefined ? undefined : open.get(part.id);
    if (piece !== undefined) {
      if (moment === "delta") piece.text += String(part.delta);
      if (part.providerMetadata !== undefined) piece.providerMetadata = part.providerMetadata;
    }
    if (part.type === "error") throw part.error;
    if (part.type === "stream-start") warnings = part.warnings;
    if (part.type === "finish")
      return { content, finishReason: part.finishReason, usage: part.usage, warnings };
    if (GATHERED.has(part.type)) content.push(part);
  }
  throw new Error("The script ends without a finish, so there is nothing to generate.");
}

/** What a stream and a generated answer have alike. */
const GATHERED: ReadonlySet<string> = new Set([
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "file",
  "reasoning-file",
  "source",
  "custom",
]);

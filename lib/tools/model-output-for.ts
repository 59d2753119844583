/** What is kept of a tool's `toModelOutput`, as a model of each specification takes it. */
import { cut, type JsonObject, type JsonValue, well_formed } from "../json.js";
import type { Specification } from "../model/accept.js";
import type { ContentItem, FileItem, ModelOutput } from "./model-output.js";

/** Stands for what has no visible character: several providers refuse an empty result. */
const EMPTY = "(empty result)";
const DENIED = "The call was denied, so it was not executed.";

/** A `tool-result`'s output in the specification's own shape. */
export type SpecificationOutput = { type: string; value?: unknown; reason?: string };

/** @param limit characters of text that reach the model; files are not cut */
export function model_output_for(
  kept: ModelOutput,
  specification: Specification,
  limit: number,
): SpecificationOutput {
  switch (kept.type) {
    case "text":
    case "error-text":
      return { type: kept.type, value: shown(kept.text, limit) };
    case "json":
    case "error-json":
      return json_output(kept.type, kept.value, limit);
    case "denied": {
      const reason = shown(kept.reason || DENIED, limit);
      return specification === "v2"
        ? { type: "error-text", value: reason }
        : { type: "execution-denied", reason };
    }
    default:
      return content_output(kept.content, specification, limit);
  }
}

function json_output(type: "json" | "error-json", value: JsonValue, limit: number): SpecificationOutput {
  const text = JSON.stringify(value);
  if (text.length <= limit) return { type, value };
  return { type: type === "json" ? "text" : "error-text", value: cut(text, limit) };
}

function content_output(
  content: readonly ContentItem[],
  specification: Specification,
  limit: number,
): SpecificationOutput {
  let left = limit;
  const items: JsonObject[] = [];
  for (const item of content) {
    const written = item_for(item, specification, Math.max(left, 0));
    if (written === undefined) continue;
    if (typeof written.text === "string") left -= written.text.length;
    items.push(written);
  }
  return items.length === 0 ? { type: "text", value: EMPTY } : { type: "content", value: items };
}

function item_for(item: ContentItem, specification: Specification, left: number): JsonObject | undefined {
  const options = item.provider_options;
  const beside: JsonObject = specification === "v2" || !options ? {} : { providerOptions: options };
  if (item.type === "text") {
    // An empty text is refused by several providers, and says nothing.
    return item.text.trim() === "" ? undefined : { type: "text", text: shown(item.text, left), ...beside };
  }
  if (item.type === "custom") return specification === "v2" ? undefined : { type: "custom", ...beside };
  if (specification === "v2") return v2_file(item, left);
  return { ...(specification === "v3" ? v3_file(item, left) : v4_file(item)), ...beside };
}

/** The oldest specification has files only as data; of others the model is told that they are. */
function v2_file(item: FileItem, left: number): JsonObject {
  if (item.data !== undefined) return { type: "media", data: item.data, mediaType: item.media_type };
  if (item.text !== undefined) return { type: "text", text: shown(item.text, left) };
  const name = item.url ?? item.filename ?? "kept by the provider";
  return { type: "text", text: `[A file of type ${item.media_type}: ${well_formed(name)}]` };
}

function v3_file(item: FileItem, left: number): JsonObject {
  const { media_type: mediaType, filename } = item;
  const is_image = mediaType.startsWith("image");
  if (item.text !== undefined) return { type: "text", text: shown(item.text, left) };
  if (item.url !== undefined)
    return is_image ? { type: "image-url", url: item.url } : { type: "file-url", url: item.url, mediaType };
  if (item.data === undefined)
    return { type: is_image ? "image-file-id" : "file-id", fileId: item.reference ?? "" };
  if (is_image) return { type: "image-data", data: item.data, mediaType };
  return { type: "file-data", data: item.data, mediaType, ...(filename === undefined ? {} : { filename }) };
}

function v4_file(item: FileItem): JsonObject {
  const { media_type: mediaType, filename } = item;
  return { type: "file", mediaType, data: v4_data(item), ...(filename === undefined ? {} : { filename }) };
}

function v4_data({ data, url, text, reference }: FileItem): JsonObject {
  if (data !== undefined) return { type: "data", data };
  // The specification wants a URL object, which is no JSON.
  if (url !== undefined) return { type: "url", url: new URL(url) as unknown as JsonValue };
  return text === undefined ? { type: "reference", reference: reference ?? null } : { type: "text", text };
}

function shown(text: string, limit: number): string {
  return text.trim() === "" ? EMPTY : cut(well_formed(text), limit);
}

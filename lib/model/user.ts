import type { DataPart, FilePart, Part } from "../../types/message.js";
import { well_formed } from "../json.js";
import type { Specification } from "./accept.js";
import type { Conversion } from "./history.js";
import type { FileContent, FileData, PromptMessage, TextContent } from "./prompt-types.js";

/** One user message, or none where there is nothing for a model to read. */
export function user_messages(parts: readonly Part[], { specification }: Conversion): PromptMessage[] {
  const content: (TextContent | FileContent)[] = [];
  for (const part of parts) {
    if (part.type === "text" && part.text.trim() !== "")
      content.push({ type: "text", text: well_formed(part.text) });
    else if (part.type === "data") content.push({ type: "text", text: data_text(part) });
    else if (part.type === "file") content.push(file_content(part, specification));
  }
  return content.length === 0 ? [] : [{ role: "user", content }];
}

/** A model reads data as JSON, under its name where it has one. */
function data_text(part: DataPart): string {
  const name = part.name === undefined ? "" : `${part.name}: `;
  return well_formed(`${name}${JSON.stringify(part.data)}`);
}

/** A file that neither has data nor a usable URL is mentioned in words, so that the rest can still be sent. */
export function file_content(part: FilePart, specification: Specification): FileContent | TextContent {
  const data = file_data(part, specification);
  if (data === undefined)
    return { type: "text", text: `[A file that cannot be read: ${well_formed(part.url ?? "no data")}]` };
  const content: FileContent = { type: "file", mediaType: part.media_type, data };
  if (part.filename !== undefined) content.filename = well_formed(part.filename);
  if (part.provider_metadata)
    content.providerOptions = part.provider_metadata as FileContent["providerOptions"];
  return content;
}

function file_data(part: FilePart, specification: Specification): FileData | undefined {
  const base64 = part.data ?? inline_data(part.url);
  if (base64 !== undefined) return specification === "v4" ? { type: "data", data: base64 } : base64;
  const url = parsed(part.url);
  if (!url) return undefined;
  return specification === "v4" ? { type: "url", url } : url;
}

/** The base64 of a `data:` URL: providers do not fetch those. */
function inline_data(url: string | undefined): string | undefined {
  const match = /^data:([^,]*),(.*)$/is.exec(url ?? "");
  if (!match) return undefined;
  const [, header = "", body = ""] = match;
  if (/;base64$/i.test(header)) return body;
  try {
    return Buffer.from(decodeURIComponent(body)).toString("base64");
  } catch {
    return undefined;
  }
}

function parsed(url: string | undefined): URL | undefined {
  try {
    return new URL(url ?? "");
  } catch {
    return undefined;
  }
}

/**
 * What a tool's `toModelOutput` says the model is to see of a result. It is asked once, when the call has ended, and
 * kept in this one shape, whichever line of the AI SDK the tool is of; each request has it as its specification does.
 */
import { message_of } from "../errors.js";
import { type Fields, fields_of } from "../fields.js";
import { type JsonObject, type JsonValue, normalise } from "../json.js";

export type ModelOutput =
  | { type: "text" | "error-text"; text: string }
  | { type: "json" | "error-json"; value: JsonValue }
  | { type: "denied"; reason?: string }
  | { type: "content"; content: ContentItem[] };

export type ContentItem =
  | { type: "text"; text: string; provider_options?: JsonObject }
  | FileItem
  /** What only a provider understands. */
  | { type: "custom"; provider_options?: JsonObject };

/** One of `data` (base64), `url`, `text` and `reference`. */
export interface FileItem {
  type: "file";
  media_type: string;
  data?: string;
  url?: string;
  text?: string;
  /** A provider's own id of it; an object has one by provider. */
  reference?: JsonValue;
  filename?: string;
  provider_options?: JsonObject;
}

type ToModelOutput = (argument: unknown) => unknown;
/** Never rejects. Where it fails, the model is not shown the result itself: it may have been meant to be kept from it. */
export async function model_output_of(
  to_model_output: ToModelOutput,
  call: { toolCallId: string; input: unknown; output: unknown },
): Promise<ModelOutput> {
  try {
    // Normalised as a whole: its texts come well formed, and it is bounded as any value is.
    return normalise(accepted(await asked(to_model_output, call)), "output").value as ModelOutput;
  } catch (thrown) {
    const text = `The tool was executed, but its toModelOutput failed: ${message_of(thrown)}`;
    return { type: "error-text", text };
  }
}

const FIELDS = new Set<PropertyKey>(["toolCallId", "input", "output"]);

/**
 * AI SDK 5 gives the output alone, later lines an object that has it. Which of them a function is written for shows
 * in the first member it reads.
 */
async function asked(to_model_output: ToModelOutput, call: { output: unknown }): Promise<unknown> {
  let first: PropertyKey | undefined;
  const watched = new Proxy(call, {
    get(target, key, receiver) {
      first ??= key;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  const result = await attempt(() => to_model_output(watched));
  if (first !== undefined && FIELDS.has(first)) return settled(result);
  return to_model_output(call.output);
}

type Attempt = { value: unknown } | { thrown: unknown };

async function attempt(run: () => unknown): Promise<Attempt> {
  try {
    return { value: await run() };
  } catch (thrown) {
    return { thrown };
  }
}

function settled(result: Attempt): unknown {
  if ("thrown" in result) throw result.thrown;
  return result.value;
}

function accepted(given: unknown): ModelOutput {
  const { type, value, reason } = fields_of(given);
  switch (type) {
    case "text":
    case "error-text":
      return { type, text: text_of(value, "value") };
    case "json":
    case "error-json":
      return { type, value: normalise(value, "value").value };
    case "execution-denied":
      return typeof reason === "string" ? { type: "denied", reason } : { type: "denied" };
    case "content":
      if (!Array.isArray(value)) throw new Error("its content is not an array");
      return { type, content: value.map((item, index) => item_of(fields_of(item), `value[${index}]`)) };
    default:
      throw new Error(`${JSON.stringify(type) ?? "nothing"} is no type of output`);
  }
}

function item_of(item: Fields, place: string): ContentItem {
  const { type } = item;
  const options =
    item.providerOptions === undefined
      ? {}
      : { provider_options: json<JsonObject>(item.providerOptions, place) };
  if (type === "text") return { type, text: text_of(item.text, `${place}.text`), ...options };
  if (type === "custom") return { type, ...options };
  const named = typeof item.filename === "string" ? { filename: item.filename } : {};
  return { type: "file", ...file_of(item, place), ...named, ...options };
}

/** AI SDK 5 says `media`, 6 has a type for each kind of file and each way of giving it, 7 has one. */
function file_of(item: Fields, place: string): Omit<FileItem, "type"> {
  const media_type = typeof item.mediaType === "string" ? item.mediaType : undefined;
  switch (item.type) {
    case "media":
    case "file-data":
    case "image-data":
      return { media_type: media_type ?? kind_of(item), data: bytes_of(item.data, `${place}.data`) };
    case "file-url":
    case "image-url":
      return { media_type: media_type ?? kind_of(item), url: url_of(item.url, `${place}.url`) };
    case "file-id":
    case "image-file-id":
      return { media_type: kind_of(item), reference: json(item.fileId, `${place}.fileId`) };
    case "file-reference":
    case "image-file-reference":
      return {
        media_type: kind_of(item),
        reference: json(item.providerReference, `${place}.providerReference`),
      };
    case "file":
      return {
        media_type: media_type ?? "application/octet-stream",
        ...tagged_file(fields_of(item.data), place),
      };
    default:
      throw new Error(
        `${place} is of the type ${JSON.stringify(item.type) ?? "undefined"}, which is not known`,
      );
  }
}

function tagged_file(data: Fields, place: string): Partial<FileItem> {
  const where = `${place}.data`;
  if (data.type === "data") return { data: bytes_of(data.data, where) };
  if (data.type === "url") return { url: url_of(data.url, where) };
  if (data.type === "text") return { text: text_of(data.text, where) };
  if (data.type === "reference") return { reference: json(data.reference, where) };
  throw new Error(`${where} is of the type ${JSON.stringify(data.type) ?? "undefined"}, which is not known`);
}

function kind_of({ type }: Fields): string {
  return String(type).startsWith("image") ? "image/*" : "application/octet-stream";
}

function bytes_of(data: unknown, place: string): string {
  if (typeof data === "string") return data;
  if (ArrayBuffer.isView(data))
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  if (Object.prototype.toString.call(data) === "[object ArrayBuffer]") {
    return Buffer.from(data as ArrayBuffer).toString("base64");
  }
  throw new Error(`${place} is neither base64 nor bytes`);
}

/** As text: a URL object belongs to the platform. */
function url_of(value: unknown, place: string): string {
  const text = String(value);
  if (!URL.canParse(text)) throw new Error(`${place} is no URL`);
  return text;
}

function text_of(value: unknown, place: string): string {
  if (typeof value !== "string") throw new Error(`${place} is not a string`);
  return value;
}

function json<Kind extends JsonValue>(value: unknown, place: string): Kind {
  return normalise(value, place).value as Kind;
}

/** Google's generateContent: its event stream, and what it refuses in the next request. */
import { isDeepStrictEqual } from "node:util";
import { pieces, type ScriptedReply, type Service, type StreamEvent } from "./model-server.js";

export interface GooglePart {
  text?: string;
  thought?: true;
  functionCall?: { id?: string; name: string; args: object };
  executableCode?: { language: string; code: string };
  codeExecutionResult?: { outcome: string; output: string };
  toolCall?: { id: string; toolType: string; args: object };
  toolResponse?: { id: string; toolType: string; response: object };
  inlineData?: { mimeType: string; data: string };
  thoughtSignature?: string;
}

export interface GoogleReply extends ScriptedReply {
  parts: GooglePart[];
  /** `null`: no chunk tells a reason. `STOP` by default. */
  finish?: string | null;
  /** An error in the stream, after the parts. */
  error?: { code: number; status: string; message: string };
}

interface Returned extends GooglePart {
  functionResponse?: { id?: string; name: string; response: object };
}

export interface GoogleBody {
  contents: { role: string; parts: Returned[] }[];
  tools?: object[];
}

export class GoogleService implements Service<GoogleBody, GoogleReply> {
  readonly #sent: GooglePart[][] = [];

  error(code: number, message: string): object {
    return { error: { code, message, status: code === 400 ? "INVALID_ARGUMENT" : "UNAVAILABLE" } };
  }

  faults({ contents }: GoogleBody, headers: { [name: string]: unknown }, path: string): string[] {
    const faults: string[] = [];
    if (!/^\/v1\/models\/[^/]+:streamGenerateContent\?alt=sse$/.test(path))
      faults.push(`There is no ${path}`);
    if (!headers["x-goog-api-key"]) faults.push("Method doesn't allow unregistered callers.");
    if (contents[0]?.role !== "user")
      faults.push("Please ensure that the conversation begins with a user turn.");
    contents.forEach(({ role, parts }, index) => {
      const place = `contents[${index}]`;
      if (parts.length === 0) faults.push(`${place}.parts must not be empty.`);
      const answered = contents[index - 1]?.parts.flatMap(({ functionCall }) => functionCall ?? []) ?? [];
      const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
      const names = (list: { name: string }[]): string[] => list.map(({ name }) => name);
      if (!isDeepStrictEqual(names(responses), names(role === "user" ? answered : [])))
        faults.push(
          `${place}: Please ensure that the number of function response parts is equal to the number of function ` +
            "call parts of the function call turn.",
        );
      if (role === "model") this.#model_turn(parts, place, faults);
    });
    const last = contents.at(-1);
    if (last?.role !== "user") faults.push("Please ensure that the conversation ends with a user turn.");
    return faults;
  }

  /** Signatures stand on the parts they came with. */
  #model_turn(parts: readonly Returned[], place: string, faults: string[]): void {
    if (this.#sent.some((sent) => isDeepStrictEqual(signed(sent), signed(parts)))) return;
    const missing = parts.find(({ functionCall, thoughtSignature }) => functionCall && !thoughtSignature);
    faults.push(
      missing
        ? `${place}: Function call \`${missing.functionCall?.name}\` is missing a \`thought_signature\`.`
        : `${place}: Thought signature is not valid.`,
    );
  }

  events({ parts, finish = "STOP", error }: GoogleReply): StreamEvent[] {
    this.#sent.push(parts);
    const usageMetadata = {
      promptTokenCount: 12,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 1,
      totalTokenCount: 15,
    };
    const chunk = (part: GooglePart): object => ({
      candidates: [{ content: { role: "model", parts: [part] }, index: 0 }],
      responseId: `response-${this.#sent.length}`,
    });
    const chunks = parts.flatMap(streamed).map(chunk);
    if (error) chunks.push({ error });
    else if (finish !== null)
      chunks.push({ candidates: [{ finishReason: finish, index: 0 }], usageMetadata });
    return chunks.map((data) => ({ data }));
  }
}

/** Text comes in pieces; its signature with the last. */
function streamed(part: GooglePart): GooglePart[] {
  const { text, thoughtSignature, ...rest } = part;
  if (text === undefined || text === "") return [part];
  const list = pieces(text).map((piece): GooglePart => ({ ...rest, text: piece }));
  return list.map((piece, at) =>
    at < list.length - 1 ? piece : { ...piece, ...(thoughtSignature ? { thoughtSignature } : {}) },
  );
}

/** What has to come back as it was: the signatures in order, and the calls, each as far as it can be told. */
function signed(parts: readonly GooglePart[]): object[] {
  return parts.flatMap(({ functionCall, toolCall, toolResponse, text, thoughtSignature }) => {
    const call = functionCall && { name: functionCall.name, args: functionCall.args };
    const tool = call ?? toolCall ?? toolResponse;
    if (!tool && (!thoughtSignature || text === "")) return [];
    return [
      { tool: tool ?? null, text: tool ? null : (text ?? null), thoughtSignature: thoughtSignature ?? null },
    ];
  });
}

/** What a Part, a call's state or an Interaction is for an AI SDK client: shared by messages and streams. */
import type { FilePart, Interaction, Part, SourcePart, ToolPart, UserPart } from "../../index.js";
import type {
  UiApproval,
  UiDataPart,
  UiFilePart,
  UiPart,
  UiProviderMetadata,
  UiSourceDocumentPart,
  UiSourceUrlPart,
  UiToolPart,
  UiToolState,
} from "./ui-types.js";

/** Leaves out what is undefined: a client compares and stores what it gets. */
export function compact<T extends object>(value: T): T {
  for (const key of Object.keys(value) as (keyof T)[]) if (value[key] === undefined) delete value[key];
  return value;
}

/** The Session kept it as JSON. */
export function provider_metadata(metadata: unknown): UiProviderMetadata | undefined {
  return metadata as UiProviderMetadata | undefined;
}

export function file_part(part: FilePart): UiFilePart {
  return compact({
    type: "file" as const,
    mediaType: part.media_type,
    url: url_of(part),
    filename: part.filename,
    providerMetadata: provider_metadata(part.provider_metadata),
  });
}

export function url_of({ url, data, media_type }: FilePart): string {
  return url ?? `data:${media_type};base64,${data ?? ""}`;
}

export function source_part(part: SourcePart): UiSourceUrlPart | UiSourceDocumentPart {
  const common = {
    sourceId: part.source_id ?? part.part_id,
    providerMetadata: provider_metadata(part.provider_metadata),
  };
  if (part.source_type === "url") {
    return compact({ type: "source-url" as const, url: part.url ?? "", title: part.title, ...common });
  }
  return compact({
    type: "source-document" as const,
    mediaType: part.media_type ?? "application/octet-stream",
    title: part.title ?? part.filename ?? "",
    filename: part.filename,
    ...common,
  });
}

/** An Interaction as a data part; its status changes in place, under its id. */
export function interaction_part(interaction: Interaction): UiDataPart & { id: string } {
  const kind = ["approval", "question"].includes(interaction.type) ? interaction.type : "interaction";
  return { type: `data-${kind}`, id: interaction.interaction_id, data: interaction };
}

/** The Parts that become one data part each; undefined for any other. */
export function data_part(part: Part | UserPart): (UiDataPart & { id: string }) | undefined {
  const id = part.part_id;
  switch (part.type) {
    case "data":
      return { type: `data-${part.name ?? "value"}`, id, data: part.data };
    case "action":
      return { type: "data-action", id, data: { title: part.title, description: part.description } };
    case "error":
      return { type: "data-error", id, data: { error_code: part.error_code, message: part.message } };
    case "interaction":
      return interaction_part(part.interaction);
    default:
      return undefined;
  }
}

function approvals_of(part: ToolPart): Interaction[] {
  return (part.interactions ?? []).filter(({ type }) => type === "approval");
}

/** The approval a client is asked for; where a call asks for several, one after the other. */
export function pending_approval(part: ToolPart): Interaction | undefined {
  return approvals_of(part).find(({ status }) => status === "pending");
}

/** What a person decided, and why; undefined where nobody answered. */
export function answered(interaction: Interaction): UiApproval<boolean> | undefined {
  const { interaction_id: id, status, response } = interaction;
  if (status !== "resolved" && status !== "denied") return undefined;
  const payload = response?.payload as { decision?: unknown; reason?: unknown } | undefined;
  const approved = status === "resolved" && payload?.decision === "approved";
  const reason = response?.reason ?? payload?.reason;
  return compact({ id, approved, reason: typeof reason === "string" ? reason : undefined });
}

/** The last decision on a call. */
export function decision_of(part: ToolPart): UiApproval<boolean> | undefined {
  return approvals_of(part)
    .map(answered)
    .findLast((one) => one !== undefined);
}

export function is_denied(part: ToolPart): boolean {
  return part.state === "failed" && part.error_code === "denied" && decision_of(part)?.approved === false;
}

export function error_text(part: ToolPart): string {
  return part.error ?? "The call failed.";
}

/** The arguments; as the model wrote them where they are no JSON object. */
export function input_of(part: ToolPart): unknown {
  return part.input === undefined ? part.input_text : part.input;
}

export function tool_part(part: ToolPart): UiToolPart {
  return compact({
    type: `tool-${part.tool_name}` as const,
    toolCallId: part.tool_call_id,
    title: part.title,
    providerExecuted: part.provider_executed || undefined,
    callProviderMetadata: provider_metadata(part.provider_metadata),
    ...compact(tool_state(part)),
  });
}

function tool_state(part: ToolPart): UiToolState {
  const input = input_of(part) ?? null;
  const decision = decision_of(part);
  const approval = approval_in(decision);
  switch (part.state) {
    case "input-streaming":
      return { state: "input-streaming", rawInput: part.input_text ?? "" };
    case "completed":
      return { state: "output-available", input, output: part.output ?? null, approval };
    case "failed":
      if (decision !== undefined && is_denied(part)) {
        return { state: "output-denied", input, approval: { ...decision, approved: false } };
      }
      return { state: "output-error", input, errorText: error_text(part), approval };
    default:
      return unfinished(part, input, decision);
  }
}

/** What stands beside an output: an approval, never a denial. */
function approval_in(decision: UiApproval<boolean> | undefined): UiApproval<true> | undefined {
  return decision?.approved === true ? { ...decision, approved: true } : undefined;
}

function unfinished(part: ToolPart, input: unknown, decision: UiApproval<boolean> | undefined): UiToolState {
  const asked = pending_approval(part);
  if (asked !== undefined)
    return { state: "approval-requested", input, approval: { id: asked.interaction_id } };
  if (part.preliminary) {
    const output = part.output ?? null;
    return { state: "output-available", input, output, preliminary: true, approval: approval_in(decision) };
  }
  return decision === undefined
    ? { state: "input-available", input }
    : { state: "approval-responded", input, approval: decision };
}

/** A Part that is shown as it stands; tools and data are made by the functions above. */
export function plain_part(part: Part | UserPart): UiPart | undefined {
  switch (part.type) {
    case "text":
      return compact({
        type: "text" as const,
        text: part.text,
        state: part.state,
        providerMetadata: provider_metadata(part.provider_metadata),
      });
    case "reasoning":
      return compact({
        type: "reasoning" as const,
        id: part.part_id,
        text: part.text,
        state: part.state,
        providerMetadata: provider_metadata(part.provider_metadata),
      });
    case "file":
      return file_part(part);
    case "source":
      return source_part(part);
    case "tool":
      return tool_part(part);
    default:
      return data_part(part);
  }
}

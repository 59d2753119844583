/** Which models are taken. */
import { is_thrown, message_of, SessionError } from "../errors.js";
import { fields_of } from "../fields.js";

/** The AI SDK's specifications of a LanguageModel. */
export type Specification = "v2" | "v3" | "v4";

/** The one method that is used of a model. */
export interface StreamingModel {
  doStream(options: object): PromiseLike<{ stream: unknown }>;
}

export interface AcceptedModel {
  model: StreamingModel;
  specification: Specification;
  /** `provider/model_id`, for people to read. */
  label: string;
}

const ACCEPTED =
  'Pass an AI SDK language model object of specification v2, v3 or v4, such as openai("…") of an @ai-sdk/* ' +
  "provider (AI SDK 5 or later).";

/**
 * Takes an AI SDK LanguageModel of specification v2, v3 or v4.
 * @throws SessionError `MODEL_INVALID` saying what is accepted
 */
export function accept_model(model: unknown): AcceptedModel {
  try {
    return read(model);
  } catch (thrown) {
    if (is_thrown(thrown, SessionError)) throw thrown;
    throw refuse(`The model cannot be read: ${message_of(thrown)}.`, thrown);
  }
}

function read(model: unknown): AcceptedModel {
  if (typeof model === "string") throw refuse(`A model id (${JSON.stringify(model)}) is no model.`);
  if (typeof model === "function") throw refuse("A provider function is no model: call it with a model id.");
  if (typeof model !== "object" || model === null)
    throw refuse(`A model cannot be ${model === null ? "null" : typeof model}.`);
  const fields = fields_of(model);
  if (typeof fields.then === "function") throw refuse("A Promise is no model: await it first.");
  const { specificationVersion, provider, modelId } = fields;
  if (specificationVersion !== "v2" && specificationVersion !== "v3" && specificationVersion !== "v4") {
    throw refuse(specification_problem(specificationVersion));
  }
  if (typeof fields.doStream !== "function")
    throw refuse("The model has no doStream: it is no language model.");
  return {
    model: model as StreamingModel,
    specification: specificationVersion,
    label: `${text(provider)}/${text(modelId)}`,
  };
}

function specification_problem(version: unknown): string {
  if (version === undefined) return "The model has no specificationVersion: it is no AI SDK model.";
  return `The model has specification ${JSON.stringify(version) ?? typeof version}, which is not supported.`;
}

function text(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : "unknown";
}

function refuse(problem: string, cause?: unknown): SessionError {
  return new SessionError("MODEL_INVALID", `${problem} ${ACCEPTED}`, { cause });
}

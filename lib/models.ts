import { type AcceptedModel, accept_model } from "./model/accept.js";

/** How the native side speaks of a model: it never sees the object. */
export interface ModelChoice {
  key: number;
  /** `provider/model_id` */
  label: string;
}

/** The models an Agent and its Sessions were given, by the keys the native side knows them under. */
export class ModelShelf {
  readonly #default: AcceptedModel | undefined;
  /** So that the same model object keeps its key. */
  readonly #keys = new Map<unknown, number>();
  readonly #models = new Map<number, AcceptedModel>();

  constructor(model: unknown) {
    this.#default = model === undefined ? undefined : accept_model(model);
  }

  /** @throws SessionError `MODEL_INVALID` */
  keep(model: unknown): ModelChoice {
    const accepted = accept_model(model);
    const key = this.#keys.get(accepted.model) ?? this.#keys.size + 1;
    this.#keys.set(accepted.model, key);
    this.#models.set(key, accepted);
    return { key, label: accepted.label };
  }

  /** Without a key, or with one of an earlier process, it is the Agent's own model. */
  find(key: number | undefined): AcceptedModel | undefined {
    return (key === undefined ? undefined : this.#models.get(key)) ?? this.#default;
  }
}

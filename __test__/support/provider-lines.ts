/**
 * The same providers in each line of their packages. AI SDK 5 made models of specification v2, 6 makes v3; both run
 * on every Node of this project. AI SDK 7 (v4) wants Node 22 and has a folder of its own, `__test__/node24`.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as anthropic_v3 from "@ai-sdk/anthropic";
import * as anthropic_v2 from "@ai-sdk/anthropic-2";
import * as google_v3 from "@ai-sdk/google";
import * as google_v2 from "@ai-sdk/google-2";
import * as openai_v3 from "@ai-sdk/openai";
import * as openai_v2 from "@ai-sdk/openai-2";
import * as compatible_v3 from "@ai-sdk/openai-compatible";
import * as compatible_v2 from "@ai-sdk/openai-compatible-1";
import type * as Ai from "ai";

export interface Packages {
  anthropic: typeof anthropic_v3;
  google: typeof google_v3;
  openai: typeof openai_v3;
  compatible: typeof compatible_v3;
}

export interface Line {
  specification: "v2" | "v3" | "v4";
  load(): Promise<Packages>;
}

/** A package of the folder for Node 24; types of the older line do for what is used of it. */
export async function newer<Package>(name: string): Promise<Package> {
  const file = resolve("__test__/node24/node_modules", name, "dist/index.js");
  return (await import(pathToFileURL(file).href)) as Package;
}

const older = { anthropic: anthropic_v2, google: google_v2, openai: openai_v2, compatible: compatible_v2 };
const current = {
  anthropic: anthropic_v3,
  google: google_v3,
  openai: openai_v3,
  compatible: compatible_v3,
};

export const is_newer = process.env.MODEL_LINE === "v4";

export const LINES: Line[] = is_newer
  ? [
      {
        specification: "v4",
        load: async () => ({
          anthropic: await newer("@ai-sdk/anthropic"),
          google: await newer("@ai-sdk/google"),
          openai: await newer("@ai-sdk/openai"),
          compatible: await newer("@ai-sdk/openai-compatible"),
        }),
      },
    ]
  : [
      { specification: "v2", load: async () => older as unknown as Packages },
      { specification: "v3", load: async () => current },
    ];

/** A model whose requests are changed on their way, as a middleware would. */
function with_requests<Model extends object>(model: Model, change: (request: Request) => object): Model {
  const asked = model as { doStream(request: object): unknown };
  return new Proxy(model, {
    get: (target, key) =>
      key === "doStream"
        ? (request: Request) => asked.doStream(change(request))
        : Reflect.get(target, key, target),
  });
}

interface Request {
  prompt: { role: string; content: unknown }[];
  tools?: object[];
}

/** Asked with these settings of its provider each time. */
export function with_provider_options<Model extends object>(model: Model, providerOptions: object): Model {
  return with_requests(model, (request) => ({ ...request, providerOptions }));
}

/** Asked with a tool that the provider runs itself. */
export function with_provider_tool<Model extends object>(model: Model, tool: object): Model {
  return with_requests(model, (request) => ({ ...request, tools: [...(request.tools ?? []), tool] }));
}

/** What a client does that keeps no reasoning: the strict servers have to refuse it. */
export function without_reasoning<Model extends object>(model: Model): Model {
  const is_kept = ({ type }: { type: string }): boolean => type !== "reasoning";
  const stripped = ({ role, content }: Request["prompt"][number]) => ({
    role,
    content: Array.isArray(content) ? content.filter(is_kept) : content,
  });
  return with_requests(model, (request) => ({ ...request, prompt: request.prompt.map(stripped) }));
}

/** What a client does that keeps nothing of what the provider attached. */
export function without_metadata<Model extends object>(model: Model): Model {
  const bare = ({ providerOptions: _, ...part }: { providerOptions?: object }): object => part;
  const stripped = ({ role, content }: Request["prompt"][number]) => ({
    role,
    content: Array.isArray(content) ? content.map(bare) : content,
  });
  return with_requests(model, (request) => ({ ...request, prompt: request.prompt.map(stripped) }));
}

/** The specifications of the models that the `ai` package of this line wraps. */
export const WRAPPED: Line["specification"][] = is_newer ? ["v3", "v4"] : ["v3"];

/** 6 here, 7 where the newer line is tested. */
export function ai_package(): Promise<typeof Ai> {
  return is_newer ? newer("ai") : import("ai");
}

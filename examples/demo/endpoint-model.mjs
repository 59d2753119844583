// Any OpenAI-compatible endpoint, through the AI SDK's provider.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

export function endpoint_model({ base_url, model, api_key }) {
  const provider = createOpenAICompatible({
    name: "endpoint",
    baseURL: base_url,
    includeUsage: true,
    ...(api_key === undefined ? {} : { apiKey: api_key }),
  });
  return provider(model);
}

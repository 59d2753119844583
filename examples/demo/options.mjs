// What the demo is told on its command line and by the environment.
import { parseArgs } from "node:util";

/** How the model is chosen, here and in the other examples. */
export const MODEL_HELP = `  --base-url <url>    an OpenAI-compatible endpoint (or OPENAI_BASE_URL)
  --model <id>        the model there (or OPENAI_MODEL)
  --api-key <key>     its key, if it wants one (or OPENAI_API_KEY)
  --scripted          the scripted model, whatever the environment says`;

export const MODEL_OPTIONS = {
  scripted: { type: "boolean" },
  "base-url": { type: "string" },
  model: { type: "string" },
  "api-key": { type: "string" },
};

export const HELP = `npm run demo -- [options]

An agent gets a task in a temporary Workspace, asks you questions, and wants your approval to delete a file.

  --yes               answers by itself; so it does where there is no terminal
  --resume <folder>   goes on where Ctrl-C has left a Turn
${MODEL_HELP}
  --help              this text

Without an endpoint the model is a small script, so no key is needed.
`;

const KNOWN = {
  ...MODEL_OPTIONS,
  yes: { type: "boolean", short: "y" },
  resume: { type: "string" },
  help: { type: "boolean", short: "h" },
};

/** What is wanted. Throws an Error with words for the user where the arguments make no sense. */
export function read_options(args, env = process.env) {
  const { values } = parseArgs({ args, options: KNOWN, allowPositionals: false });
  const { help = false, yes = false, resume } = values;
  return { help, yes, resume, endpoint: endpoint_of(values, env) };
}

/** The endpoint, or undefined for the scripted model. A key alone in the environment calls no one. */
export function endpoint_of(values, env) {
  if (values.scripted) return undefined;
  const base_url = values["base-url"] ?? (env.OPENAI_BASE_URL || undefined);
  const model = values.model ?? (env.OPENAI_MODEL || undefined);
  const api_key = values["api-key"] ?? (env.OPENAI_API_KEY || undefined);
  if (base_url && model) return { base_url, model, api_key };
  const given = values["base-url"] ?? values.model ?? values["api-key"];
  if (given === undefined) return undefined;
  const missing = [
    ...(base_url ? [] : ["--base-url (or OPENAI_BASE_URL)"]),
    ...(model ? [] : ["--model (or OPENAI_MODEL)"]),
  ];
  throw new Error(`An endpoint needs ${missing.join(" and ")} as well.`);
}

// What the inbox is told on its command line; the model is chosen as the demo chooses it.
import { parseArgs } from "node:util";
import { endpoint_of, MODEL_HELP, MODEL_OPTIONS } from "../demo/options.mjs";

export const HELP = `npm run inbox -- [options]

A web page where you see what several agents ask, and answer. Start it again and everything is still there.

  --folder <path>     where Sessions, notes and the page's token are kept (.inbox)
  --port <number>     the port on 127.0.0.1 (4174)
${MODEL_HELP}
  --help              this text
`;

const KNOWN = {
  ...MODEL_OPTIONS,
  help: { type: "boolean", short: "h" },
  folder: { type: "string" },
  port: { type: "string" },
};

/** What is wanted. Throws an Error with words for the user where the arguments make no sense. */
export function read_options(args, env = process.env) {
  const { values } = parseArgs({ args, options: KNOWN, allowPositionals: false });
  const port = Number(values.port ?? 4174);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error("--port takes a number up to 65535.");
  const { help = false, folder = ".inbox" } = values;
  return { help, folder, port, endpoint: endpoint_of(values, env) };
}

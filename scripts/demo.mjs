// Shows a Session at work: builds what is missing, then runs the demo in this very process, so that the terminal
// and its Ctrl-C are the demo's.
import { HELP, read_options } from "../examples/demo/options.mjs";
import { build } from "./build.mjs";
import { install } from "./support/install.mjs";

async function run(args) {
  const options = read_options(args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  install();
  build();
  const { main } = await import("../examples/demo/main.mjs");
  return main(options);
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

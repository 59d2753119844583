// The demo. On a bare clone it brings the packages and builds first.
import { HELP, read_options } from "../examples/demo/options.mjs";
import { build } from "./build.mjs";
import { install } from "./support/install.mjs";

function options() {
  try {
    return read_options(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${HELP}`);
    return undefined;
  }
}

async function run(wanted) {
  install();
  build();
  const { main } = await import("../examples/demo/main.mjs");
  return main(wanted);
}

const wanted = options();
if (wanted === undefined) process.exitCode = 2;
else if (wanted.help) process.stdout.write(HELP);
else process.exitCode = await run(wanted);

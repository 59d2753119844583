// Starts a program of examples/ with its command line, also on a bare clone.
import { build } from "../build.mjs";
import { install } from "./install.mjs";

/** `program` is a module whose `main` takes the options and gives an exit code, or nothing. */
export async function start_example({ HELP, read_options, program }) {
  let wanted;
  try {
    wanted = read_options(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  if (wanted.help) {
    process.stdout.write(HELP);
    return;
  }
  install();
  build();
  const { main } = await import(program);
  try {
    process.exitCode = (await main(wanted)) ?? 0;
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

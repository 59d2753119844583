// The demo. On a bare clone it brings the packages and builds first.
import { HELP, read_options } from "../examples/demo/options.mjs";
import { start_example } from "./support/example.mjs";

await start_example({ HELP, read_options, program: "../../examples/demo/main.mjs" });

// Mends what a tool can mend by itself.
import { install } from "./support/install.mjs";
import { attempt, bin } from "./support/run.mjs";

install();
attempt("cargo", ["fmt"]);
attempt(bin("biome"), ["check", "--write"]);

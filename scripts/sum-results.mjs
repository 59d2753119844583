// After a full run: the closing line over all its stages.
import { close, kept_results } from "./support/results.mjs";

process.exitCode = close(kept_results());

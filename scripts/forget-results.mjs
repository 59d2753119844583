// Before a full run: no stage may be counted that did not run.
import { forget_results } from "./support/results.mjs";

forget_results();

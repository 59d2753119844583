import { test } from "node:test";
import suite from "./smoke_suite.cjs";

suite.define(test);

import { test } from "node:test";
import realms from "../cases/realms.cjs";

realms.define(test);

// The compiled layer gives what `index.d.ts` promises: the two cannot drift apart unnoticed.
import type * as Contract from "../../index.js";
import type * as Implementation from "../../lib/index.js";
import type { NativeBinding } from "../../lib/native.js";
import type * as Generated from "../../native/binding.js";

declare function give<T>(): T;

give<typeof Implementation>() satisfies typeof Contract;
give<InstanceType<typeof Implementation.Agent>>() satisfies Contract.Agent;
give<InstanceType<typeof Implementation.Workspace>>() satisfies Contract.Workspace;
give<InstanceType<typeof Implementation.SessionError>>() satisfies Contract.SessionError;

/** Nothing is exported that the contract does not know. */
type Unknown = Exclude<keyof typeof Implementation, keyof typeof Contract>;
give<Unknown>() satisfies never;

/** The binding as it was generated is the binding as it is called. */
give<typeof Generated>() satisfies NativeBinding;

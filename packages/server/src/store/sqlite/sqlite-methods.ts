/** The methods of ports, as the threads of this driver have them. */
import type { STORE_WRITES, Store } from '../store.ts';

/** The reads of a port, on the main thread. */
export type Reads<Port extends keyof typeof STORE_WRITES> = Omit<
  Store[Port],
  (typeof STORE_WRITES)[Port][number]
>;

/** The writes of a port, on the writer's thread. */
export type Writes<Port extends keyof typeof STORE_WRITES> = {
  readonly [Name in (typeof STORE_WRITES)[Port][number] & keyof Store[Port]]: Write<Store[Port][Name]>;
};

/** A write of a port, on the writer's thread. */
export type Write<Method> = Method extends (...parameters: infer Parameters) => Promise<infer Outcome>
  ? (...parameters: Parameters) => Outcome
  : never;

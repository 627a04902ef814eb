import type { Json } from '../values/json.ts';

/** What a connection holds in a region of a group. */
export interface ConnectionHold {
  /** The text of the region, or its name in the engine (see `region-name.ts`), which an update takes for it. */
  readonly region: Json;
  readonly location: Json;
  /** Null for none. */
  readonly data: Json | null;
}

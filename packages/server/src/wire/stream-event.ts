import type { Json } from '../values/json.ts';

/** An event of a stream, whatever the transport. */
export interface StreamEvent {
  /** ASCII without quotes. */
  readonly name: string;
  /** Where a reader resumes who has the event and all before it: ASCII without quotes. */
  readonly id: string;
  readonly data: Json;
}

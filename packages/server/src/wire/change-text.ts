/** The JSON text of changes, and their events. */
import type { Change } from '../store/changes/changes.ts';
import type { ChangeRecord } from '../store/ports/changes.ts';
import type { Json } from '../values/json.ts';
import type { StreamEvent } from './stream-event.ts';
import { timestamp } from './timestamp.ts';

/** A change with its position, and the record that it is of. */
interface PositionedChange {
  readonly id: string;
  readonly record: ChangeRecord;
  readonly change: Change;
}

export function presentChange({ id, record, change }: PositionedChange): Json {
  const { type, ...named } = change;
  const { actor, requestId } = record;
  const at = timestamp(record.at);
  return JSON.stringify({ id, type, at, actor, request_id: requestId, ...named });
}

export const changeEvent = (found: PositionedChange): StreamEvent => ({
  name: found.change.type,
  id: found.id,
  data: presentChange(found),
});

export const changesPage = (changes: readonly Json[], next: string, more: boolean): Json =>
  `{"changes":[${changes.join(',')}],"next":"${next}","more":${more}}`;

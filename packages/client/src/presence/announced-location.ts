import type { Location } from '../protocol.ts';

/** The location of a user, and the region in which it is their only one. */
export interface AnnouncedLocation {
  readonly location: Location;
  readonly exclusiveWithin?: Location | undefined;
  /** For the others to read: at most 1 KiB of JSON. Absent: as it was; null: none. */
  readonly data?: Readonly<Record<string, unknown>> | null | undefined;
}

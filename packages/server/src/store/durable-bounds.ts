import { limits } from '@rollcall/protocol';

/** The bounds of a user's durable presence in one group. An update that exceeds a bound ends the oldest locations. */
export interface DurableBounds {
  readonly locations: number;
  /** Of the canonical texts of these locations, in UTF-8. */
  readonly bytes: number;
}

/** The bounds of the API. Tests open stores with smaller ones. */
export const DURABLE_BOUNDS: DurableBounds = {
  locations: limits.DURABLE_LOCATIONS_MAX,
  bytes: limits.DURABLE_LOCATIONS_MAX_BYTES,
};

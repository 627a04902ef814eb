import type { Json } from './json.ts';

/** Which locations a presence reading is about; null is all of them. */
export type LocationFilter = {
  /** Canonical. */
  readonly location: Json;
  /** Also take locations that match it: those that have every pair of it, and more. */
  readonly partial: boolean;
} | null;

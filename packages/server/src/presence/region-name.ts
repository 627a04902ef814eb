import { hash } from 'node:crypto';

/** The name of a long region: no text of a region, a JSON object, begins like it. */
export const regionHash = (region: string): string => hash('sha256', region, 'base64url');

/**
 * The name of a region in a driver's indexes: its text, or where that has more than `max` characters, its hash. The name of a name is
 * the name itself.
 */
export function regionName(region: string, max: number): string {
  return region.length <= max || !region.startsWith('{') ? region : regionHash(region);
}

import { hash } from 'node:crypto';

/** The name of a region in a driver's indexes: its text, or where that has more than `max` characters, its hash. */
export function regionName(region: string, max: number): string {
  return region.length <= max ? region : hash('sha256', region, 'base64url');
}

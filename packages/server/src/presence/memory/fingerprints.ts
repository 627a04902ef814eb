import type { Json } from '../../values/json.ts';
import { pairsOf } from '../../values/location-pairs.ts';

/** The pairs of a location as numbers, for an index (FNV-1a, 32 bits, each once). Different pairs may share one. */
export function fingerprintsOf(location: Json): number[] {
  const fingerprints = pairsOf(location).map(fingerprint);
  return fingerprints.length > 1 ? [...new Set(fingerprints)] : fingerprints;
}

function fingerprint(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash | 0;
}

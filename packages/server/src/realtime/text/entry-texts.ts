import { isSameProfile } from '../../core/roster/user-profiles.ts';
import type { Json } from '../../values/json.ts';
import { type PresenceEntry, presentPresence } from '../../wire/presenters.ts';
import { PIECE_MAX_BYTES } from './pieces.ts';

/** How many texts of one user are stored: filters may show different locations of a user. */
const TEXTS_PER_USER = 4;
/** This many UTF-16 units take at most one piece in UTF-8. */
const PART_MAX_LENGTH = Math.floor(PIECE_MAX_BYTES / 3);

/** A part of a snapshot; no piece ends within it. */
export interface TextPart {
  readonly text: string;
  /** Length of the text in UTF-8: at most that of a piece. */
  readonly bytes: number;
}

interface UserText extends Omit<PresenceEntry, 'userId'> {
  readonly parts: readonly TextPart[];
}

/**
 * The texts of a group's users, which the snapshots of all of its filters refer to instead of writing them again. At most
 * four texts for each user of the group, so four times the text of one snapshot that shows all of them.
 */
export class EntryTexts {
  /** Of each user, the most recently used text comes first. */
  readonly #texts = new Map<string, readonly UserText[]>();

  /** Of how many users there are texts. */
  get size(): number {
    return this.#texts.size;
  }

  /** Drops the texts of users whom no filter shows. */
  prune(isShown: (userId: string) => boolean): void {
    for (const userId of this.#texts.keys()) if (!isShown(userId)) this.#texts.delete(userId);
  }

  /** The user's entry with a comma before it: one part, or several where it is longer than a piece. */
  of(presence: PresenceEntry): readonly TextPart[] {
    const { userId, ...shown } = presence;
    const known = this.#texts.get(userId) ?? [];
    const index = known.findIndex(
      (one) =>
        isSameDurable(one.durable, shown.durable) &&
        isSame(one.locations, shown.locations) &&
        isSameProfile(one.user, shown.user) &&
        (one.data === undefined) === (shown.data === undefined) &&
        isSame(one.data ?? [], shown.data ?? []),
    );
    const used = known[index] ?? { ...shown, parts: partsOf(`,${presentPresence(presence)}`) };
    if (index !== 0) {
      const others = known.filter((one) => one !== used);
      this.#texts.set(userId, [used, ...others.slice(0, TEXTS_PER_USER - 1)]);
    }
    return used.parts;
  }
}

/** The text in parts. No character is cut in two. */
export function partsOf(text: string): readonly TextPart[] {
  if (text.length <= PART_MAX_LENGTH) return [partOf(text)];
  const parts: TextPart[] = [];
  for (let from = 0; from < text.length; ) {
    const end = Math.min(from + PART_MAX_LENGTH, text.length);
    const to = isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
    parts.push(partOf(text.slice(from, to)));
    from = to;
  }
  return parts;
}

const partOf = (text: string): TextPart => ({ text, bytes: Buffer.byteLength(text) });

const isHighSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdbff;

const isSame = (a: readonly (Json | null)[], b: readonly (Json | null)[]) =>
  a.length === b.length && a.every((text, index) => text === b[index]);

const isSameDurable = (a: PresenceEntry['durable'], b: PresenceEntry['durable']) =>
  a === b || (a !== null && b !== null && a.at === b.at && a.location === b.location);

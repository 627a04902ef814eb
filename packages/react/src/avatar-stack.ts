import { type CSSProperties, createElement, type ReactElement, useState } from 'react';

/** Whom an avatar shows. A `PresentUser` is one. */
export interface AvatarPerson {
  readonly id: string;
  readonly name: string | null;
  readonly pictureURL: string | null;
}

export interface AvatarStackProps {
  readonly people: readonly AvatarPerson[];
  /** How many faces are shown; the others are counted. Default: 5. */
  readonly max?: number | undefined;
  /** The diameter of a face, in CSS pixels. Default: 32. */
  readonly size?: number | undefined;
  /** What a screen reader calls the list. Default: `People`. */
  readonly label?: string | undefined;
  /** What a screen reader says of the faces that are not shown. Default: `and <names>`. */
  readonly moreLabel?: ((hidden: readonly AvatarPerson[]) => string) | undefined;
  readonly className?: string | undefined;
  readonly style?: CSSProperties | undefined;
}

const nameOf = ({ name, id }: AvatarPerson) => name ?? id;
const namesOf = (people: readonly AvatarPerson[]) => `and ${people.map(nameOf).join(', ')}`;

/**
 * Overlapping faces with their names as text for screen readers. It needs no style sheet: the colours follow the page's
 * `color-scheme`. A person without a picture has their initials.
 */
export function AvatarStack(props: AvatarStackProps): ReactElement {
  const { people, max = 5, size = 32, label = 'People', moreLabel = namesOf, className, style } = props;
  const shown = people.slice(0, max);
  const hidden = people.slice(max);
  const item = (key: string, index: number, child: ReactElement) =>
    createElement(
      'li',
      { key, style: { marginInlineStart: index === 0 ? 0 : -size / 4, lineHeight: 0 } },
      child,
    );
  const faces = shown.map((person, index) =>
    item(`person ${person.id}`, index, createElement(Avatar, { person, size })),
  );
  if (hidden.length > 0) {
    const title = moreLabel(hidden);
    const more = createElement(
      'span',
      { role: 'img', 'aria-label': title, title, style: { ...circle(size), ...MORE } },
      `+${hidden.length}`,
    );
    faces.push(item('more', shown.length, more));
  }
  // Safari takes a list without markers for no list, unless it has the role of one.
  return createElement(
    'ul',
    { role: 'list', 'aria-label': label, className, style: { ...LIST, ...style } },
    faces,
  );
}

/** One face. */
function Avatar({ person, size }: { readonly person: AvatarPerson; readonly size: number }): ReactElement {
  const { pictureURL } = person;
  const [broken, setBroken] = useState<string | null>(null);
  const name = nameOf(person);
  if (pictureURL !== null && pictureURL !== broken) {
    return createElement('img', {
      src: pictureURL,
      alt: name,
      title: name,
      width: size,
      height: size,
      style: { ...circle(size), objectFit: 'cover' },
      onError: () => setBroken(pictureURL),
      // The picture of a page that a server rendered may have failed before React listened: load it again.
      ref: reload,
    });
  }
  const style = { ...circle(size), background: colourOf(person.id), color: '#fff' };
  return createElement('span', { role: 'img', 'aria-label': name, title: name, style }, initialsOf(name));
}

/** The part of an image that is used here; these files are checked without the types of browsers. */
interface Image {
  readonly complete: boolean;
  readonly naturalWidth: number;
  src: string;
}

function reload(element: unknown): void {
  const image = element as Image | null;
  if (image?.complete && image.naturalWidth === 0) image.src = String(image.src);
}

const LIST: CSSProperties = {
  display: 'flex',
  alignItems: 'center',
  margin: 0,
  padding: 0,
  listStyle: 'none',
};
const MORE: CSSProperties = { background: 'color-mix(in srgb, CanvasText 12%, Canvas)', color: 'CanvasText' };

const circle = (size: number): CSSProperties => ({
  display: 'inline-flex',
  alignItems: 'center',
  justifyContent: 'center',
  boxSizing: 'border-box',
  width: size,
  height: size,
  borderRadius: '50%',
  boxShadow: '0 0 0 2px Canvas',
  font: `600 ${Math.round(size * 0.38)}px/1 system-ui, sans-serif`,
  userSelect: 'none',
});

/** The first letters of the first and the last word. */
function initialsOf(name: string): string {
  const words = name.trim().split(/\s+/);
  const ends = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return ends
    .map((word) => [...(word ?? '')][0] ?? '')
    .join('')
    .toUpperCase();
}

/** A hue for each ID. With this lightness, white text has a contrast of at least 4.5 on every hue. */
function colourOf(id: string): string {
  let hash = 0;
  for (const character of id) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 360;
  return `hsl(${hash} 50% 30%)`;
}

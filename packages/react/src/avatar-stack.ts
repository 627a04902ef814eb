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
  /** What a screen reader says of the faces that are not shown. Default: `and <names>`, of ten at most. */
  readonly moreLabel?: ((hidden: readonly AvatarPerson[]) => string) | undefined;
  readonly className?: string | undefined;
  readonly style?: CSSProperties | undefined;
}

const nameOf = ({ name, id }: AvatarPerson) => name?.trim() || id;
/** Most names that a screen reader reads of the faces that are not shown. */
const NAMES_MAX = 10;
const namesOf = (people: readonly AvatarPerson[]) => {
  const names = people.slice(0, NAMES_MAX).map(nameOf);
  const more = people.length - names.length;
  if (more > 0) names.push(`and ${more} more`);
  return `and ${names.join(', ')}`;
};

/**
 * Overlapping faces with their names as text for screen readers. It needs no style sheet: the colours follow the page's
 * `color-scheme`. A person without a picture has their initials.
 */
export function AvatarStack(props: AvatarStackProps): ReactElement {
  const { people, max = 5, size = 32, label = 'People', moreLabel = namesOf, className, style } = props;
  const hidden = people.slice(max);
  const faces: ReactElement[] = people
    .slice(0, max)
    .map((person) => createElement(Avatar, { key: `person ${person.id}`, person, size }));
  if (hidden.length > 0) {
    const style = {
      ...circle(size),
      // As wide as the number needs.
      width: 'auto',
      minWidth: size,
      padding: size / 8,
      background: 'color-mix(in srgb, CanvasText 12%, Canvas)',
      color: 'CanvasText',
    };
    faces.push(textFace(moreLabel(hidden), style, `+${hidden.length}`));
  }
  const items = faces.map((face, index) =>
    createElement(
      'li',
      { key: face.key, style: { marginInlineStart: index && -size / 8, lineHeight: 0 } },
      face,
    ),
  );
  // Safari takes a list without markers for no list, unless it has the role of one.
  return createElement(
    'ul',
    { role: 'list', 'aria-label': label, className, style: { ...LIST, ...style } },
    items,
  );
}

/** One face. */
function Avatar({ person, size }: { readonly person: AvatarPerson; readonly size: number }): ReactElement {
  const { pictureURL } = person;
  const [broken, setBroken] = useState<string | null>(null);
  const name = nameOf(person);
  if (pictureURL && pictureURL !== broken) {
    return createElement('img', {
      src: pictureURL,
      alt: name,
      title: name,
      style: { ...circle(size), objectFit: 'cover' },
      onError: () => setBroken(pictureURL),
      // The picture of a page that a server rendered may have failed before React listened: load it again.
      ref: reload,
    });
  }
  const style = { ...circle(size), background: colourOf(person.id), color: '#fff' };
  return textFace(name, style, initialsOf(name));
}

/** A text that stands for people. Its direction is not that of the page, where `+5` would be `5+`. */
const textFace = (title: string, style: CSSProperties, text: string): ReactElement =>
  createElement('span', { role: 'img', 'aria-label': title, title, dir: 'ltr', style }, text);

/** The part of an image that is used here; these files are checked without the types of browsers. */
interface Image {
  readonly complete: boolean;
  readonly naturalWidth: number;
  src: string;
}

function reload(element: unknown): void {
  const image = element as Image | null;
  if (image?.complete && !image.naturalWidth) image.src += '';
}

const LIST: CSSProperties = {
  display: 'flex',
  alignItems: 'center',
  margin: 0,
  padding: 0,
  listStyle: 'none',
};

const circle = (size: number): CSSProperties => ({
  display: 'inline-grid',
  alignItems: 'center',
  justifyContent: 'center',
  boxSizing: 'border-box',
  width: size,
  height: size,
  borderRadius: size,
  boxShadow: '0 0 0 2px Canvas',
  // The system's own colours (forced colours) replace backgrounds, shadows, and this.
  outline: '1px solid transparent',
  font: `600 ${size * 0.34}px/1 system-ui, sans-serif`,
  userSelect: 'none',
});

/** What a reader takes for one letter: a flag, or a character with its marks, skin tone and joined characters. */
const LETTER = /^(\p{RI}{2}|.(\p{M}|\p{EMod}|\u200d.)*)/su;

/** The first letters of the first and the last word. */
function initialsOf(name: string): string {
  const [first = '', ...others] = name.split(/\s+/);
  return [first, ...others.slice(-1)]
    .map((word) => word.match(LETTER)?.[0])
    .join('')
    .toUpperCase();
}

/**
 * A hue for each ID; IDs that follow each other have distant ones. With this lightness, white text has a contrast of at least 4.5
 * on every hue.
 */
function colourOf(id: string): string {
  let hash = 0;
  for (const character of id) hash = ((hash + (character.codePointAt(0) as number)) * 137) % 360;
  return `hsl(${hash} 50% 30%)`;
}

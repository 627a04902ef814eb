import { type PresenceOptions, useOthers } from '@rollcall/react';
import type { CSSProperties } from 'react';
import type { Person } from './app.tsx';

const COLOURS = ['#c2255c', '#3b5bdb', '#c2410c', '#087f5b', '#7048e8', '#a61e4d'];

/** Where the pointers of the others are, as their pages publish it. For people who see: screen readers get the faces. */
export function Cursors({
  where,
  people,
}: {
  readonly where: PresenceOptions;
  readonly people: readonly Person[];
}) {
  const others = useOthers(where);
  return (
    <div className="cursors" aria-hidden="true">
      {others.map(({ id, presences }) => {
        const { x, y } = presences.find(({ data }) => data !== null)?.data ?? {};
        const index = people.findIndex((one) => one.id === id);
        if (typeof x !== 'number' || typeof y !== 'number') return null;
        const colour = COLOURS[index % COLOURS.length] ?? 'gray';
        const style = { '--colour': colour, transform: `translate(${x}px, ${y}px)` } as CSSProperties;
        return (
          <div key={id} className="cursor" data-user={id} style={style}>
            <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
              <path d="M2 2l5 13 2-5.5L14.5 7z" fill={colour} stroke="#fff" strokeWidth="1.2" />
            </svg>
            <span>{people[index]?.name.split(' ')[0] ?? id}</span>
          </div>
        );
      })}
    </div>
  );
}

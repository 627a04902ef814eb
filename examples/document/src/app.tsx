import {
  AvatarStack,
  type PresentUser,
  useConnectionStatus,
  useMyPresence,
  useOthers,
  useThreads,
} from '@rollcall/react';
import { type PointerEvent, useCallback, useEffect, useRef, useState } from 'react';
import { Comments } from './comments.tsx';
import { Cursors } from './cursors.tsx';
import { PLAN, type Section } from './plan.ts';
import { useReadSection } from './use-read-section.ts';

/** A user of the example. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly pictureURL: string;
}

const DOCUMENT = 'launch-plan';
/** All locations in the document. */
const ANYWHERE = { location: { page: DOCUMENT }, partialMatch: true } as const;
const STATES = {
  connecting: 'Connecting',
  open: 'Live',
  reconnecting: 'Reconnecting',
  closed: 'Not connected',
};

export function App({ people, user }: { readonly people: readonly Person[]; readonly user: string }) {
  const [section, setSection] = useState(PLAN[0] as Section);
  useReadSection(setSection);
  const { update } = useMyPresence({
    location: { page: DOCUMENT, section: section.id },
    exclusiveWithin: { page: DOCUMENT },
  });
  /** The pointer in the article, which may be taller or wider for the others: its text does not move by much. */
  const publish = ({ clientX, clientY, currentTarget }: PointerEvent) => {
    const { left, top } = currentTarget.getBoundingClientRect();
    update({ x: Math.round(clientX - left), y: Math.round(clientY - top) });
  };
  return (
    <>
      <Header people={people} user={user} />
      <News people={people} />
      <main>
        <article onPointerMove={publish} onPointerLeave={() => update(null)}>
          <Cursors where={ANYWHERE} people={people} />
          <p className="kicker">Aurora</p>
          <h1>Launch plan for the northern observatory</h1>
          {PLAN.map((one) => (
            <Part key={one.id} section={one} isMine={one === section} people={people} onRead={setSection} />
          ))}
        </article>
        <Comments key={section.id} section={section} people={people} />
      </main>
    </>
  );
}

function Header({ people, user }: { readonly people: readonly Person[]; readonly user: string }) {
  const { state } = useConnectionStatus();
  const here = useOthers(ANYWHERE, (others) => others.map(({ id }) => id));
  return (
    <header>
      <strong>Aurora</strong>
      <span className={`status ${state}`}>{STATES[state]}</span>
      <AvatarStack label="Also in this document" people={people.filter(({ id }) => here.includes(id))} />
      <label>
        You are{' '}
        <select value={user} onChange={(event) => location.assign(`/?user=${event.target.value}`)}>
          {people.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </header>
  );
}

const readingOf = (others: readonly PresentUser[]) =>
  others.flatMap(({ id, presences }) => presences.map(({ location }) => `${id} ${location.section}`));

/** Reports to screen readers who has begun to read which section. */
function News({ people }: { readonly people: readonly Person[] }) {
  const reading = useOthers(ANYWHERE, readingOf);
  const before = useRef<readonly string[]>([]);
  const [news, setNews] = useState('');
  useEffect(() => {
    const latest = reading.find((one) => !before.current.includes(one));
    before.current = reading;
    if (latest === undefined) return;
    const [user, section] = latest.split(' ');
    const name = people.find(({ id }) => id === user)?.name ?? user;
    setNews(`${name} is reading "${PLAN.find(({ id }) => id === section)?.title ?? section}"`);
  }, [reading, people]);
  return (
    <p className="unseen" role="status">
      {news}
    </p>
  );
}

interface PartProps {
  readonly section: Section;
  readonly isMine: boolean;
  readonly people: readonly Person[];
  readonly onRead: (section: Section) => void;
}

function Part({ section, isMine, people, onRead }: PartProps) {
  const { id, title, text } = section;
  // Renders again only when a user comes to this section or leaves it.
  const select = useCallback(
    (others: readonly PresentUser[]) =>
      others
        .filter(({ presences }) => presences.some((one) => one.location.section === id))
        .map((one) => one.id),
    [id],
  );
  const readers = useOthers(ANYWHERE, select);
  const { threads } = useThreads();
  const thread = threads.find(({ location }) => location?.section === id);
  const unread = thread?.unread ?? 0;
  const count = thread?.userMessages ?? 0;
  return (
    <section id={id} className={isMine ? 'mine' : ''} onPointerDown={() => onRead(section)}>
      <div className="head">
        <h2>{title}</h2>
        <AvatarStack
          label={`Reading ${title}`}
          size={28}
          people={people.filter((one) => readers.includes(one.id))}
        />
        <button
          type="button"
          className={unread > 0 ? 'count unread' : 'count'}
          onClick={() => onRead(section)}
        >
          {unread > 0
            ? `${unread} new`
            : count === 0
              ? 'Comment'
              : count === 1
                ? '1 comment'
                : `${count} comments`}
        </button>
      </div>
      <p>{text}</p>
    </section>
  );
}

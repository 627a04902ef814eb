/** The application of the tests. What it shows is in the URL: `?view=faces&token=…&group=…`. */
import { RollcallClient } from '@rollcall/client';
import * as React from 'react';
import {
  createElement,
  Fragment,
  type FunctionComponent,
  type ReactElement,
  StrictMode,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import * as rollcall from '../../src/index.ts';

const {
  useConnectionStatus,
  useMembers,
  useMyPresence,
  useOthers,
  useSelf,
  useThread,
  useThreads,
  useViewer,
} = rollcall;

/** Makes what a component reads visible to the test. */
const shown = (id: string, value: unknown) => createElement('output', { id, key: id }, JSON.stringify(value));

const button = (id: string, onClick: () => void) =>
  createElement('button', { type: 'button', key: `button ${id}`, id, onClick }, id);

/** Counts how often a component rendered. In StrictMode, React renders each twice. */
function useRenders(): number {
  const renders = useRef(0);
  renders.current += 1;
  return renders.current;
}

/** The part of a page that is used here; these files are checked without the types of browsers. */
const page = globalThis as { readonly location?: { readonly search: string } };
const parameters = () => new URLSearchParams(page.location?.search ?? '');

function Me(): ReactElement {
  const location = { page: parameters().get('page') ?? 'a' };
  const { update, error } = useMyPresence({ location });
  return createElement('p', null, [
    shown('my-error', error?.code ?? null),
    button('update', () => update({ x: 1 })),
  ]);
}

function Others(): ReactElement {
  const others = useOthers();
  return shown(
    'others',
    others.map(({ id, presences }) => [id, presences.map(({ location }) => location.page).sort()]),
  );
}

/** Renders again only when the number of others changes. */
function Count(): ReactElement {
  const renders = useRenders();
  const count = useOthers({}, (others) => others.length);
  return shown('count', { count, renders });
}

function Status(): ReactElement {
  const { state, reason } = useConnectionStatus();
  return shown('status', [state, reason?.code ?? null]);
}

function Viewer(): ReactElement {
  const { viewer, error } = useViewer();
  const self = useSelf();
  return createElement('p', null, [
    shown('viewer', viewer === null ? (error?.code ?? null) : viewer.user.name),
    shown('self', self?.id ?? null),
  ]);
}

function Members(): ReactElement {
  const { members, total, hasMore, loadMore, isLoading, error } = useMembers();
  return createElement('p', null, [
    shown('members', { count: members.length, total, hasMore, isLoading }),
    shown('members-error', error?.code ?? null),
    button('more-members', () => void loadMore()),
  ]);
}

function Threads(): ReactElement {
  const { threads, create, loadMore, isLoading } = useThreads();
  return createElement('p', null, [
    shown('threads', { isLoading, names: threads.map(({ name, total }) => `${name} ${total}`) }),
    button('more-threads', () => void loadMore()),
    button('create', () => void create({ id: 'made', name: 'Made' })),
  ]);
}

function Thread({ threadID = 't' }): ReactElement {
  const thread = useThread(threadID);
  const { messages, hasOlder, loadOlder, send, retry, discard, error, isLoading } = thread;
  const failed = messages.find(({ state }) => state === 'failed');
  return createElement('p', null, [
    shown('thread', { name: thread.thread?.name ?? null, error: error?.code ?? null, isLoading, hasOlder }),
    shown(
      'messages',
      messages.map(({ plaintext, state }) => `${plaintext} ${state}`),
    ),
    shown('failed', failed?.error?.code ?? null),
    button('older', () => void loadOlder()),
    button('send', () => {
      send('one', { createThread: { name: 'New' } });
      send('two');
    }),
    button('retry', () => failed !== undefined && retry(failed.id)),
    button('discard', () => failed !== undefined && discard(failed.id)),
  ]);
}

/** Shows one thread after the other. */
function Switcher(): ReactElement {
  const [threadID, setThreadID] = useState('t');
  return createElement('p', null, [
    createElement(Thread, { key: 'thread', threadID }),
    ...['t', 'u', 'v'].map((id) => button(`to-${id}`, () => setThreadID(id))),
  ]);
}

/** Where the viewer goes, step by step: within a region, nowhere that exists, and elsewhere without a region. */
const STEPS = [
  { location: { page: 'a', part: '1' }, exclusiveWithin: { page: 'a' } },
  { location: { list: 'x' } },
  { location: {} },
  { location: { list: 'y' } },
  { location: {} },
  { location: { list: 'z' } },
] as const;

function Walker(): ReactElement {
  const [step, setStep] = useState(0);
  const { error } = useMyPresence(STEPS[step] as rollcall.MyPresenceOptions);
  const self = useSelf();
  return createElement('p', null, [
    shown('my-error', error?.code ?? null),
    shown('where', self?.presences.map(({ location }) => location) ?? null),
    button('next', () => setStep(step + 1)),
  ]);
}

/** Publishes when it is mounted, which is before the effects of the component that has `update`. */
function Publisher({ update }: Pick<rollcall.MyPresenceState, 'update'>): null {
  useEffect(() => update({ tool: 'pen' }), [update]);
  return null;
}

function Published(): ReactElement {
  const { update } = useMyPresence({ location: { page: 'a' } });
  const data = useSelf()?.presences.map((presence) => presence.data) ?? null;
  return createElement('p', null, [
    shown('published', data),
    createElement(Publisher, { key: 'publisher', update }),
  ]);
}

interface Hiding {
  readonly mode: 'visible' | 'hidden';
  readonly children?: ReactElement;
}

/** Can be hidden. It is not rendered again when it is shown, as where React's compiler has made the application. */
function Hideable(): ReactElement {
  const [mode, setMode] = useState<Hiding['mode']>('visible');
  const others = useMemo(() => createElement(Others), []);
  return createElement('p', null, [
    createElement(React.Activity as FunctionComponent<Hiding>, { key: 'activity', mode }, others),
    button('toggle', () => setMode(mode === 'visible' ? 'hidden' : 'visible')),
  ]);
}

/** Rendered on a server, with a picture that does not exist. */
function Broken(): ReactElement {
  const people = [{ id: 'ada', name: 'Ada Okafor', pictureURL: '/nothing.png?slow' }];
  return createElement(rollcall.AvatarStack, { people });
}

const VIEWS: Readonly<Record<string, readonly FunctionComponent[]>> = {
  faces: [Me, Others, Count, Status, Viewer, rollcall.Facepile as FunctionComponent],
  hydrated: [Me, Others, Status, Viewer, Members, Threads],
  watcher: [Others, Count, Status, Viewer],
  conversation: [Threads, Thread],
  switcher: [Switcher],
  returning: [Me, Switcher],
  members: [Members],
  walker: [Walker],
  published: [Published],
  hideable: [Hideable],
  broken: [Broken],
  everything: [Me, Others, Status, Viewer, Members],
};

/** Can render the provider again, and nothing in it; mount what is in it anew; and give it the client of another user, whose token is in the URL. */
function Root({ client: first, children }: rollcall.RollcallProviderProps): ReactElement {
  const [round, setRound] = useState(0);
  const [mounting, setMounting] = useState(0);
  const [client, setClient] = useState(first);
  const groupID = parameters().get('group') ?? undefined;
  return createElement(StrictMode, null, [
    createElement(
      rollcall.RollcallProvider,
      { key: 'provider', client, groupID },
      createElement(Fragment, { key: mounting }, children),
    ),
    shown('round', round),
    button('again', () => setRound(round + 1)),
    button('mount', () => setMounting(mounting + 1)),
    button('close', () => void client.close()),
    button('login', () => {
      void client.close();
      setClient(clientOf(parameters().get('url') ?? '', parameters().get('other') ?? ''));
    }),
  ]);
}

/** The application with the components of a view. */
export function application(view: string, client: RollcallClient): ReactElement {
  const children = (VIEWS[view] ?? []).map((component, key) => createElement(component, { key }));
  return createElement(Root, { client, children });
}

/** A client of the page, with what its URL names. */
export const clientOf = (url: string, token: string): RollcallClient => new RollcallClient({ url, token });

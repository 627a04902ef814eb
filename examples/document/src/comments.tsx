import { AvatarStack, useThread, useThreads } from '@rollcall/react';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { Person } from './app.tsx';
import type { Section } from './plan.ts';

interface CommentsProps {
  readonly section: Section;
  readonly people: readonly Person[];
}

/** The comments on a section: a thread that its first message creates. */
export function Comments({ section, people }: CommentsProps) {
  const { threads } = useThreads();
  const exists = threads.some(({ id }) => id === section.id);
  return (
    <aside aria-label={`Comments on ${section.title}`}>
      <h3>{section.title}</h3>
      {/* A thread that another user creates is read as soon as it is there. */}
      <Messages key={exists ? 'there' : 'missing'} section={section} people={people} />
      <NewComment section={section} />
    </aside>
  );
}

function Messages({ section, people }: CommentsProps) {
  const { messages, retry, markSeen, thread } = useThread(section.id);
  const list = useRef<HTMLOListElement>(null);
  const count = messages.length;
  const unread = thread?.unread ?? 0;

  useEffect(() => {
    if (count > 0) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [count]);
  useEffect(() => {
    if (unread > 0) markSeen().catch(() => {});
  }, [unread, markSeen]);

  const nameOf = (id: string) => people.find((one) => one.id === id)?.name ?? id;

  return (
    <>
      {count === 0 && (
        <p className="none">No comments yet. Everybody who reads this section sees yours at once.</p>
      )}
      <ol ref={list}>
        {messages.map(({ id, authorID, plaintext, state }) => (
          <li key={id} className={state}>
            <AvatarStack label="Author" size={28} people={people.filter((one) => one.id === authorID)} />
            <p>
              <small>{nameOf(authorID)}</small>
              <br />
              {plaintext}{' '}
              {state === 'failed' && (
                <button type="button" onClick={() => retry(id)}>
                  Send again
                </button>
              )}
            </p>
          </li>
        ))}
      </ol>
    </>
  );
}

function NewComment({ section }: { readonly section: Section }) {
  const { send } = useThread(section.id);
  const [text, setText] = useState('');

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === '') return;
    send(text, { createThread: { name: section.title, location: { section: section.id } } });
    setText('');
  };

  return (
    <form onSubmit={submit}>
      <input
        aria-label="Your comment"
        placeholder="Write a comment"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit">Send</button>
    </form>
  );
}

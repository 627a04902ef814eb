import type { ViewerThread } from '@rollcall/client';
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
  const thread = threads.find(({ id }) => id === section.id);
  return (
    <aside aria-label={`Comments on ${section.title}`}>
      <h3>{section.title}</h3>
      {/* A thread that another user creates is read as soon as it is there. */}
      <Messages key={thread ? 'there' : 'missing'} section={section} people={people} thread={thread} />
      <NewComment section={section} />
    </aside>
  );
}

interface MessagesProps extends CommentsProps {
  /** Of `useThreads`, where `unread` is live. */
  readonly thread: ViewerThread | undefined;
}

function Messages({ section, people, thread }: MessagesProps) {
  const { messages, retry, markSeen } = useThread(section.id);
  const list = useRef<HTMLOListElement>(null);
  const count = messages.length;

  useEffect(() => {
    if (count > 0) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [count]);
  useEffect(() => {
    if (thread && thread.unread > 0) markSeen().catch(() => {});
  }, [thread, markSeen]);

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

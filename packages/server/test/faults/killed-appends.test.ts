/** A server that is killed with SIGKILL while texts are appended: readers who resume have exactly what is stored. */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, test } from 'node:test';
import { headersOfProject, KNOWN, type Request, withRequests, withServe } from '../cli/cli-process.ts';
import { Random } from '../sim/random.ts';
import { markdown, messagePath, threadPath } from '../support/conversation.ts';
import { shownMessages } from '../support/conversation-model.ts';
import type { StreamEvent } from '../support/event-parser.ts';
import { expectDone, expectOk } from '../support/expect.ts';
import { skipsPostgres, withDatabase } from '../support/postgres.ts';
import { withDataDir } from '../support/server.ts';
import { StreamReader } from '../support/stream-reader.ts';

/** Where the kills fall. The seed of a failure is in its message; ROLLCALL_TEST_SEED runs another. */
const SEED = Number(process.env.ROLLCALL_TEST_SEED ?? 1);
const ROUNDS = 3;
const MOST_ANSWERS = 250;
const MESSAGES = ['m', 'n'];
const CALLERS = 8;
const READERS = 3;

/** Appends numbered texts to a message, and knows which of them were acknowledged. */
class Appender {
  readonly message: string;
  readonly #name: string;
  #acknowledged = 0;

  constructor(name: string, message: string) {
    this.#name = name;
    this.message = message;
  }

  /** Until the server is gone. */
  async write(call: Request, onAnswer: () => void): Promise<void> {
    for (;;) {
      const text = `<${this.#name}:${this.#acknowledged + 1}>`;
      const answer = await call('POST', `${messagePath('t', this.message)}/append`, { text }).catch(
        () => null,
      );
      if (answer === null) return;
      assert.equal(answer.status, 200, answer.text);
      this.#acknowledged += 1;
      onAnswer();
    }
  }

  /** The text has everything acknowledged once and in order, and at most the one that was under way at the kill. */
  check(text: string): void {
    const own = [...text.matchAll(/<(\w+):(\d+)>/g)].filter(([, name]) => name === this.#name);
    const numbers = own.map(([, , number]) => Number(number));
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
      `the texts of ${this.#name} are in order`,
    );
    const more = numbers.length - this.#acknowledged;
    assert.ok(more === 0 || more === 1, `${this.#name}: ${numbers.length}, not ${this.#acknowledged}`);
    this.#acknowledged = numbers.length;
  }
}

/** A reader that resumes where it was, over the lives of the server. */
class LastingReader {
  readonly #events: StreamEvent[] = [];
  #stream: StreamReader | null = null;

  async open(url: string): Promise<void> {
    this.leave();
    const { authorization } = headersOfProject();
    const last = this.#events.at(-1)?.id;
    const path = `${threadPath('t')}/messages`;
    this.#stream = await StreamReader.open({ url, token: '' }, path, {
      authorization,
      ...(last !== undefined && { 'last-event-id': last }),
    });
    assert.equal(this.#stream.status, 200);
  }

  /** Everything that came, in all connections. */
  get events(): StreamEvent[] {
    return [...this.#events, ...(this.#stream?.events ?? [])];
  }

  async shows(stored: Record<string, string>): Promise<void> {
    const isShown = () => JSON.stringify(shownMessages(this.events)) === JSON.stringify(stored);
    await this.#stream?.until(JSON.stringify(stored), isShown);
  }

  leave(): void {
    this.#events.push(...(this.#stream?.events ?? []));
    this.#stream?.close();
    this.#stream = null;
  }
}

async function storedTexts(call: Request): Promise<Record<string, string>> {
  const { messages } = expectOk<{ messages: { id: string; plaintext: string }[] }>(
    await call('GET', `${threadPath('t')}/messages`),
  );
  for (const { plaintext } of messages)
    assert.equal(plaintext.replaceAll(/<\w+:\d+>/g, ''), '', 'each text is whole');
  return Object.fromEntries(messages.map(({ id, plaintext }) => [id, plaintext]));
}

/** The flags of a server on each engine. */
const ENGINES: readonly {
  readonly name: string;
  readonly skip: string | false;
  with(use: (flags: readonly string[]) => Promise<void>): Promise<void>;
}[] = [
  { name: 'the embedded store', skip: false, with: (use) => use(KNOWN) },
  {
    name: 'PostgreSQL',
    skip: skipsPostgres,
    with: (use) => withDatabase((url) => use([...KNOWN, '--database-url', url])),
  },
];

for (const engine of ENGINES) {
  describe(`a server on ${engine.name} that is killed while texts are appended`, {
    skip: engine.skip,
  }, () => {
    test(`readers who resume after a kill in the middle of appends have exactly the stored texts (seed ${SEED})`, () =>
      withDataDir((dataDir) => engine.with((flags) => killedRounds(dataDir, flags))));
  });
}

async function killedRounds(dataDir: string, flags: readonly string[]): Promise<void> {
  const random = new Random(SEED);
  const appenders = Array.from(
    { length: CALLERS },
    (_, index) => new Appender(`c${index}`, MESSAGES[index % MESSAGES.length] as string),
  );
  const readers = Array.from({ length: READERS }, () => new LastingReader());
  const live = (use: (url: string, call: Request, kill: () => void) => Promise<void>) =>
    withServe(dataDir, flags, (server) =>
      withRequests(server.url, (call) => use(server.url, call, () => server.process.signal('SIGKILL'))),
    );
  for (let round = 0; round < ROUNDS; round += 1) {
    let left = 1 + random.below(MOST_ANSWERS);
    await live(async (url, call, kill) => {
      if (round === 0) await converse(call);
      const stored = await storedTexts(call);
      for (const appender of appenders) appender.check(stored[appender.message] ?? '');
      for (const reader of readers) await reader.open(url);
      const onAnswer = () => {
        left -= 1;
        if (left === 0) kill();
      };
      await Promise.all(appenders.map((appender) => appender.write(call, onAnswer)));
    });
  }
  await live(async (url, call) => {
    const stored = await storedTexts(call);
    for (const appender of appenders) appender.check(stored[appender.message] ?? '');
    for (const reader of readers) {
      await reader.open(url);
      await reader.shows(stored);
      assert.equal(reader.events.filter(({ type }) => type === 'snapshot').length, 1);
      reader.leave();
    }
  });
}

async function converse(call: Request): Promise<void> {
  expectOk(
    await call('POST', '/v1/batch', {
      users: [{ id: 'u' }],
      groups: [{ id: 'g', name: 'G', members: ['u'] }],
    }),
  );
  expectDone(await call('PUT', threadPath('t'), { groupID: 'g', name: 'T' }));
  for (const id of MESSAGES)
    expectDone(await call('PUT', messagePath('t', id), { authorID: 'u', content: markdown('') }));
}

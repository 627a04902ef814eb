/** What tests open is closed by these, also when a test fails. */
import { after } from 'node:test';

interface Closable {
  close(): unknown;
}

/** Something that is closed at the end of its block: `await using store = closing(await openStore(settings))`. */
export const closing = <Opened extends Closable>(opened: Opened): Opened & AsyncDisposable =>
  Object.assign(opened, { [Symbol.asyncDispose]: async () => void (await opened.close()) });

/** Returns a function that registers what was opened: it is closed after the tests of the calling suite. */
export function closedAfterTests(): <Opened extends Closable>(opened: Opened) => Opened {
  const registered: Closable[] = [];
  after(() => Promise.all(registered.map((each) => each.close())));
  return (opened) => {
    registered.push(opened);
    return opened;
  };
}

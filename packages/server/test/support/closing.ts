/** What tests open is closed by these, also when a test fails. */
import { after } from 'node:test';

interface Closable {
  close(): unknown;
}

/** Something that is closed at the end of its block: `await using store = closing(await openStore(settings))`. */
export const closing = <Opened extends Closable>(opened: Opened): Opened & AsyncDisposable =>
  Object.assign(opened, { [Symbol.asyncDispose]: async () => void (await opened.close()) });

/** Opens two. The first is closed again where the second cannot be opened: it would not let the process end. */
export async function openTwo<Opened extends Closable>(
  open: () => Promise<Opened>,
): Promise<readonly [Opened, Opened]> {
  await using opened = new AsyncDisposableStack();
  const first = opened.use(closing(await open()));
  const second = await open();
  opened.move();
  return [first, second];
}

/** Returns a function that registers what was opened: it is closed after the tests of the calling suite. */
export function closedAfterTests(): <Opened extends Closable>(opened: Opened) => Opened {
  const registered: Closable[] = [];
  after(() => Promise.all(registered.map((each) => each.close())));
  return (opened) => {
    registered.push(opened);
    return opened;
  };
}

/** Something that is closed at the end of its block: `await using store = closing(await openStore(settings))`. */
export const closing = <Opened extends { close(): unknown }>(opened: Opened): Opened & AsyncDisposable =>
  Object.assign(opened, { [Symbol.asyncDispose]: async () => void (await opened.close()) });

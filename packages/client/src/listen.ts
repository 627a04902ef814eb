/** Gets the event; its fields depend on the type. */
export type Listener = (event?: object) => void;

/** Signals, sockets and pages, where there are such. */
export interface Target {
  addEventListener?(type: string, listener: Listener): void;
  removeEventListener?(type: string, listener: Listener): void;
}

/** Calls the listener when the signal aborts, or at once where it has. Returns the function that removes the listener. */
export function onAbort(signal: AbortSignal | undefined, listener: Listener): () => void {
  if (signal?.aborted) listener();
  return listen(signal, 'abort', listener);
}

/** Adds a listener, and returns the function that removes it. */
export function listen(target: Target | undefined, type: string, listener: Listener): () => void {
  target?.addEventListener?.(type, listener);
  return () => target?.removeEventListener?.(type, listener);
}

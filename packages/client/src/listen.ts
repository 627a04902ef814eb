/** Gets the event; its fields depend on the type. */
export type Listener = (event?: object) => void;

/** Signals, sockets and pages, where there are such. */
export interface Target {
  addEventListener?(type: string, listener: Listener): void;
  removeEventListener?(type: string, listener: Listener): void;
}

/** Adds a listener, and returns the function that removes it. */
export function listen(target: Target | undefined, type: string, listener: Listener): () => void {
  target?.addEventListener?.(type, listener);
  return () => target?.removeEventListener?.(type, listener);
}

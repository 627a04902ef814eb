/** What a page is told of its life. Outside of browsers nothing is ever told. */
interface Page {
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
  readonly document?: { readonly visibilityState: string };
}

const page = globalThis as Page;

/** Whether this runs in a page of a browser. */
export const isPage = (): boolean => page.document !== undefined;

/** Nobody sees the page: its tab is in the background, or its window is covered. */
export const isPageHidden = (): boolean => page.document?.visibilityState === 'hidden';

/** Listens until the function that it returns is called. */
export function onPage(
  type: 'pagehide' | 'pageshow' | 'visibilitychange' | 'online',
  listener: () => void,
): () => void {
  page.addEventListener?.(type, listener);
  return () => page.removeEventListener?.(type, listener);
}

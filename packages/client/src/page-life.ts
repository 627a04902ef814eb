import { type Listener, listen, type Target } from './listen.ts';

/** The page's lifecycle events. Outside of browsers there are none. */
interface Page extends Target {
  readonly document?: { readonly visibilityState: string; readonly prerendering?: boolean };
}

const page = globalThis as Page;

/** Whether the page is not visible: its tab is in the background, or its window is covered. */
export const isPageHidden = (): boolean => page.document?.visibilityState === 'hidden';

/**
 * Whether the browser renders the page before the user opens it, which may never happen. It delays sockets and locks until then, but not
 * requests. The page is visible a moment before `prerendering` ends.
 */
export const isPagePrerendered = (): boolean => isPageHidden() && !!page.document?.prerendering;

/** Adds a listener, and returns the function that removes it. */
export const onPage = (
  type: 'pagehide' | 'pageshow' | 'visibilitychange' | 'online' | 'offline',
  listener: Listener,
): (() => void) => listen(page, type, listener);

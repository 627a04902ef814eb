/** The entry of a page: renders the application, or takes over what the server has rendered. */
import { createRoot, hydrateRoot } from 'react-dom/client';
import { application, clientOf } from './application.ts';

/** The part of a page that is used here; this file is checked without the types of browsers. */
interface Page {
  readonly location: { readonly search: string };
  readonly document: { querySelector(selector: string): Element & { readonly childElementCount: number } };
  unmount?: () => void;
}

const page = globalThis as unknown as Page;
const parameters = new URLSearchParams(page.location.search);
const client = clientOf(parameters.get('url') ?? '', parameters.get('token') ?? '');
const element = application(parameters.get('view') ?? '', client);
const root = page.document.querySelector('main');

if (root.childElementCount > 0) {
  hydrateRoot(root, element, { onRecoverableError: (error) => console.error(String(error)) });
} else {
  const created = createRoot(root);
  created.render(element);
  page.unmount = () => created.unmount();
}

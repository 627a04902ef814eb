/** Pages of a browser whose script is the client, and the server that they use. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build, type Rolldown } from 'vite';

const SOURCES = join(import.meta.dirname, '../../src');

export interface PageSite {
  readonly origin: string;
  /** The address of a page; the program reads the query. */
  address(query: Readonly<Record<string, string>>): string;
}

/** Runs `use` with an origin whose pages run this program: a module that imports the client from `/client.js`. */
export async function withPageSite(program: string, use: (site: PageSite) => Promise<void>): Promise<void> {
  const modules = await clientModules();
  const pages = createServer(({ url = '' }, response) => {
    const script = url === '/program.js' ? program : modules.get(url);
    // A page in a sandboxed frame has no origin.
    response.setHeader('access-control-allow-origin', '*');
    if (script !== undefined) return response.setHeader('content-type', 'text/javascript').end(script);
    if (url.endsWith('.js')) return response.writeHead(404).end();
    response.setHeader('content-type', 'text/html');
    return response.end(
      '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/program.js"></script>',
    );
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  try {
    await use({ origin, address: (query) => `${origin}/?${new URLSearchParams(query)}` });
  } finally {
    pages.closeAllConnections();
    await new Promise((resolve) => pages.close(resolve));
  }
}

/** The modules of a bundle, by path: `/client.js`, and those that it imports or loads on demand. */
async function clientModules(): Promise<ReadonlyMap<string, string>> {
  const result = await build({
    configFile: false,
    logLevel: 'error',
    root: SOURCES,
    build: {
      write: false,
      rolldownOptions: {
        input: join(SOURCES, 'index.ts'),
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: 'client.js', chunkFileNames: '[name].js' },
      },
    },
  });
  const { output } = result as Rolldown.RolldownOutput;
  return new Map(output.flatMap((file) => (file.type === 'chunk' ? [[`/${file.fileName}`, file.code]] : [])));
}

/** The recipes of our pages, as files of a host's backend that can be imported. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fencesOf, ROOT } from '../../../server/test/docs/markdown.ts';

const source = (path: string) => pathToFileURL(join(ROOT, 'packages/client/src', path)).href;

/** What the recipes import by name. */
const PACKAGES: Readonly<Record<string, string>> = {
  express: import.meta.resolve('express'),
  '@rollcall/client': source('index.ts'),
  '@rollcall/client/server': source('server/index.ts'),
};

export class Recipes {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** `session` is the code of the host's own `session.js`. */
  static async open(session: string): Promise<Recipes> {
    const directory = await mkdtemp(join(tmpdir(), 'rollcall-recipes-'));
    await writeFile(join(directory, 'package.json'), '{"type": "module"}');
    const recipes = new Recipes(directory);
    await recipes.#write('session.js', session);
    return recipes;
  }

  close(): Promise<void> {
    return rm(this.#directory, { recursive: true, force: true });
  }

  /** Writes the only recipe of a page that contains this text to this path of the project, and imports it. */
  async import(page: string, containing: string, name = `${containing.replaceAll(/\W/g, '')}.js`) {
    const fences = fencesOf(page).filter(({ code }) => code.includes(containing));
    assert.equal(fences.length, 1, containing);
    return import(await this.#write(name, fences[0]?.code ?? ''));
  }

  async #write(name: string, code: string): Promise<string> {
    const path = join(this.#directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(
      path,
      code.replace(/(?<=from ')[^'.]+(?=')/g, (imported) => PACKAGES[imported] ?? imported),
    );
    return pathToFileURL(path).href;
  }
}

/** Serves an application of Express, or a plain listener, while `use` runs. */
export async function served<Result>(
  app: RequestListener,
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const host = createServer(app);
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(host.address() as AddressInfo).port}`);
  } finally {
    host.closeAllConnections();
    await new Promise((resolve) => host.close(resolve));
  }
}

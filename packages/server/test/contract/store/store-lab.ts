/**
 * The environment of the Store's contract suites: a store of the engine under test, and a new project for each test, so
 * that tests share one store and no data.
 */
import assert from 'node:assert/strict';
import type { Store } from '../../../src/store/store.ts';
import { newRoster, type Roster } from './roster.ts';

/** The storage of one store. Its data is there when the store is opened again after `close`. */
export interface StoreSpace {
  open(): Promise<Store>;
  /** Removes the storage. Every store opened in it must be closed. */
  remove(): Promise<void>;
}

/** Creates empty storage. */
export type MakeStoreSpace = () => Promise<StoreSpace>;

export class StoreLab {
  readonly makeSpace: MakeStoreSpace;
  #space: StoreSpace | null = null;
  #store: Store | null = null;
  #empty: Promise<Store> | null = null;
  readonly #opened = new AsyncDisposableStack();

  constructor(makeSpace: MakeStoreSpace) {
    this.makeSpace = makeSpace;
  }

  async open(): Promise<void> {
    this.#space = await this.makeSpace();
    this.#store = await this.#space.open();
  }

  async close(): Promise<void> {
    await this.#store?.close();
    await this.#space?.remove();
    await this.#opened.disposeAsync();
  }

  /** Runs `use` with an empty store of its own. */
  async withStore(use: (store: Store) => Promise<void>): Promise<void> {
    await using opened = new AsyncDisposableStack();
    await use(await this.#newStore(opened));
  }

  /** A second store that the tests share: what they do must leave it empty. */
  get emptyStore(): Promise<Store> {
    this.#empty ??= this.#newStore(this.#opened);
    return this.#empty;
  }

  async #newStore(opened: AsyncDisposableStack): Promise<Store> {
    const space = opened.adopt(await this.makeSpace(), ({ remove }) => remove());
    return opened.adopt(await space.open(), (store) => store.close());
  }

  /** The store that the tests share. */
  get store(): Store {
    assert.ok(this.#store, 'the lab is open');
    return this.#store;
  }

  /** A new customer's new project. */
  project(): Promise<Roster> {
    return newRoster(this.store);
  }

  async projectWithUsers(...ids: readonly string[]): Promise<Roster> {
    const roster = await this.project();
    await roster.users(...ids);
    return roster;
  }

  async projectWithGroup(id: string, ...members: readonly string[]): Promise<Roster> {
    const roster = await this.project();
    await roster.groupOf(id, ...members);
    return roster;
  }
}

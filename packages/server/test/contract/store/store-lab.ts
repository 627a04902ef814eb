/**
 * What the store's contract suites are run in: a store of the engine under test, and fresh projects in it, so that one
 * store serves many tests and they cannot meet.
 */
import assert from 'node:assert/strict';
import type { Store } from '../../../src/store/store.ts';
import { newRoster, type Roster } from './roster.ts';

/** Where an engine keeps the data of one store. What was written is there when it is opened again after `close`. */
export interface StoreSpace {
  open(): Promise<Store>;
  /** Gives the place back, when every store opened in it has been closed. */
  remove(): Promise<void>;
}

/** Makes a place that holds nothing. */
export type MakeStoreSpace = () => Promise<StoreSpace>;

export class StoreLab {
  readonly makeSpace: MakeStoreSpace;
  #space: StoreSpace | null = null;
  #store: Store | null = null;

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
}

import type { Store } from '../store/store.ts';
import type { StoreWrites } from './changes/store-writes.ts';

/** The rules of a resource, which need nothing but these ports of the store and the way of every write. */
export abstract class ResourceService<Port extends keyof Store> {
  protected readonly store: Pick<Store, Port>;
  protected readonly writes: StoreWrites;

  constructor({ store, writes }: { readonly store: Pick<Store, Port>; readonly writes: StoreWrites }) {
    this.store = store;
    this.writes = writes;
  }
}

/** Pages of a list that several components show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, PagedList } from '@rollcall/client';
import { LiveStore } from '../src/live-store.ts';
import { type PagedState, pageLoader } from '../src/page-loader.ts';

test('components that load a page of one list at once share it, with all that changed since it was requested', async () => {
  const answer = Promise.withResolvers<Page<string>>();
  let requests = 0;
  const page = () => {
    requests += 1;
    return answer.promise;
  };
  const initial: PagedState<string> = { isLoading: false, error: null, token: 'first', missed: null };
  const store = new LiveStore(
    initial,
    async () => true as const,
    () => false,
  );
  const missed: (readonly string[] | null)[] = [];
  const withPage = (state: PagedState<string>, _: unknown, token: string | null) => {
    missed.push(state.missed);
    return { ...state, token, missed: null };
  };
  const list = { page } as unknown as PagedList<string>;
  const loader = () => store.actions(() => pageLoader(store, list, 50, withPage));
  const [one, another] = [loader(), loader()];
  const loading = [one()];
  store.set((state) => ({ ...state, missed: [...(state.missed ?? []), 'changed'] }));
  loading.push(another());
  answer.resolve({ items: ['a'], next: null, total: null });
  await Promise.all(loading);
  assert.equal(requests, 1);
  assert.deepEqual(missed, [['changed']]);
});

/** Pages of a list that several components show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, PagedList } from '@rollcall/client';
import { LiveStore } from '../src/live-store.ts';
import { type PagedState, pageLoader, UNREAD_LIST } from '../src/page-loader.ts';

test('components that load a page of one list at once share it, with all that changed since it was requested', async () => {
  const answer = Promise.withResolvers<Page<string>>();
  let requests = 0;
  const page = () => {
    requests += 1;
    return answer.promise;
  };
  const initial: PagedState<string> = { ...UNREAD_LIST, token: 'first' };
  const store = new LiveStore(
    initial,
    async () => true as const,
    () => false,
  );
  const missed: (readonly string[] | null)[] = [];
  const loader = () =>
    pageLoader(store, { page } as unknown as PagedList<string>, 50, (state, _, token) => {
      missed.push(state.missed);
      return { ...state, token, missed: null };
    });
  const [one, another] = [loader(), loader()];
  const loading = [one()];
  store.set((state) => ({ ...state, missed: [...(state.missed ?? []), 'changed'] }));
  loading.push(another());
  answer.resolve({ items: ['a'], next: null, total: null });
  await Promise.all(loading);
  assert.equal(requests, 1);
  assert.deepEqual(missed, [['changed']]);
});

import { limits } from '@rollcall/protocol';
import type { IdSample } from '../store.ts';

/** Counts IDs and keeps the first of them. */
export class IdCollector {
  count = 0;
  readonly ids: string[] = [];

  add(id: string): void {
    this.count += 1;
    if (this.ids.length < limits.PROBLEMS_NAMED) this.ids.push(id);
  }

  sample(): IdSample {
    return { count: this.count, ids: this.ids };
  }
}

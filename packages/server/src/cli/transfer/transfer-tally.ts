import { RECORD_TYPES, type RecordType, type TransferRecord } from '../../store/transfer-records.ts';
import { withCommas } from '../../values/with-commas.ts';
import { amount } from '../amount.ts';
import type { ProgressDisplay } from '../progress-display.ts';

const IRREGULAR: Partial<Record<RecordType, string>> = {
  members: 'memberships',
  durable_presence: 'durable_presence',
};

/** The name of what records of a type are, for scripts and people. */
const nameOf = (type: RecordType) => IRREGULAR[type] ?? `${type}s`;

/** Counts what a transfer passes on, and shows it. */
export class TransferTally {
  readonly #counts = new Map(RECORD_TYPES.map((type) => [nameOf(type), 0]));
  readonly #startedAt = performance.now();
  #fraction: number | null = null;

  /** Takes how much of the source was read, from 0 to 1. */
  readonly onRead = (fraction: number): void => {
    this.#fraction = fraction;
  };

  async *counted(
    batches: AsyncIterable<readonly TransferRecord[]>,
    display: ProgressDisplay,
  ): AsyncGenerator<readonly TransferRecord[]> {
    for await (const batch of batches) {
      yield batch;
      for (const record of batch) this.#count(record);
      display.update(() => ({ state: this.words(), fraction: this.#fraction }));
    }
  }

  #count(record: TransferRecord): void {
    const name = nameOf(record.type);
    const amount = record.type === 'members' ? record.users.length : 1;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + amount);
  }

  /** In one line. */
  words(): string {
    return ['users', 'groups', 'memberships', 'messages']
      .map((name) => amount(this.#counts.get(name) ?? 0, name))
      .join(', ');
  }

  /** As scripts read it. */
  json() {
    return { records: Object.fromEntries(this.#counts), seconds: this.#seconds() };
  }

  /** As people read it. */
  table(): string {
    const rows = Array.from(
      this.#counts,
      ([name, count]) => name.replace('_', ' ').padEnd(20) + withCommas(count).padStart(10),
    );
    return [...rows, `${this.#seconds()} s`].join('\n');
  }

  #seconds(): number {
    return Math.round((performance.now() - this.#startedAt) / 100) / 10;
  }
}

import { Counter, type Metric } from '../../metrics/metric.ts';

/** What the presence streams of a process have sent since its start. */
export class StreamCounts {
  readonly #received = new Counter({
    name: 'rollcall_presence_events_received_total',
    help: 'Events of groups that are watched here',
  });
  readonly #sent = new Counter({
    name: 'rollcall_presence_events_sent_total',
    help: 'Events that were written, once for each filter',
  });
  readonly #merged = new Counter({
    name: 'rollcall_presence_events_merged_total',
    help: 'Events that were merged into others before they were written',
  });
  readonly #writes = new Counter({
    name: 'rollcall_presence_event_writes_total',
    help: 'Texts with events that were sent to readers',
  });
  readonly received = this.#received.series();
  readonly sent = this.#sent.series();
  readonly merged = this.#merged.series();
  readonly writes = this.#writes.series();
  readonly metrics: readonly Metric[] = [this.#received, this.#sent, this.#merged, this.#writes];
}

import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';

type Export = SpanExporter['export'];
type Result = Parameters<Parameters<Export>[1]>[0];

/** The package's code of a success; its enumeration is in a package that is not a dependency of ours. */
const SUCCESS = 0;

/** An exporter whose failures are one line in the log until it works again, however many batches fail. */
export class LoggedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: Logger;
  #isFailing = false;

  constructor(exporter: SpanExporter, log: Logger) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: Result) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result);
      done(result);
    });
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #report({ code, error }: Result): void {
    const isFailing = code !== SUCCESS;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    if (isFailing) this.#log.warn({ reason: error?.message }, FAILING);
    else this.#log.info('traces are exported again');
  }
}

const FAILING =
  'traces cannot be exported and are dropped: check OTEL_EXPORTER_OTLP_ENDPOINT and the receiver; requests are answered as before';

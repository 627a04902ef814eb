const NAMES = ['store', 'presence', 'broker'] as const;

type Ports = Readonly<Record<(typeof NAMES)[number], { ping(): Promise<void> }>>;

/** Whether this process should get requests. */
export class Readiness {
  readonly #ports: Ports;
  #isStopping = false;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** The process is about to stop: it is not ready any more. */
  stop(): void {
    this.#isStopping = true;
  }

  /** The ports that do not answer; none when all is well. */
  async failing(): Promise<string[]> {
    const pings = await Promise.allSettled(NAMES.map((name) => this.#ports[name].ping()));
    return NAMES.filter((_, index) => pings[index]?.status === 'rejected');
  }
}

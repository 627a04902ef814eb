/** The parts of the engine, in the order in which messages name them. */
export const PORT_NAMES = ['store', 'presence', 'broker'] as const;
type PortName = (typeof PORT_NAMES)[number];

type Ports = Readonly<Record<PortName, { ping(): Promise<void> }>>;

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

  /** The ports that do not answer, without the excluded ones, which are not checked; none when all is well. */
  async failing(excluded: readonly PortName[] = []): Promise<PortName[]> {
    const names = PORT_NAMES.filter((name) => !excluded.includes(name));
    const pings = await Promise.allSettled(names.map((name) => this.#ports[name].ping()));
    return names.filter((_, index) => pings[index]?.status === 'rejected');
  }
}

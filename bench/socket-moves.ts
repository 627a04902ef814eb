/** Updates of pages with sockets, in turn: as many as the server answers, or at a rate. */
import type { BenchSocket } from './socket-client.ts';
import { StampedFrame } from './socket-stamps.ts';

const UNDER_WAY_MAX = 256;
/** Each page sends less often than the server allows. */
const MOVE_INTERVAL_MS = 22;
/** An update that is not answered so long after the end is not waited for. */
const LAST_ANSWER_MS = 5_000;

/** What an update changes: the location, or the data of the page's only location. */
export type Change = 'location' | 'data';

export interface Moves {
  readonly seconds: number;
  /** Default: as many as the server answers, with this many under way: {@link UNDER_WAY_MAX}. */
  readonly movesPerSecond?: number | undefined;
  readonly movesMax?: number;
}

interface Options {
  readonly change: Change;
  /** Each page alternates between so many updates. Default: it sends none twice. */
  readonly different: number | undefined;
  /** The server sends frames back, and accepts as many as arrive. */
  readonly isBare: boolean;
  /** Called before each update with the time when it was due. */
  readonly onMove: (page: number, dueAt: number) => void;
}

const PAGE = { page: 'the page' };

/** The frame that sets where a page is, with its first stamp. */
export const stampedFrame = (page: number, change: Change): StampedFrame =>
  new StampedFrame(page, (stamp) => ({
    ref: 3,
    op: 'present',
    location: change === 'location' ? { ...PAGE, paragraph: stamp } : PAGE,
    exclusiveWithin: PAGE,
    ...(change === 'data' && { data: { x: 512, y: 384, cursor: stamp } }),
  }));

export class MovingPages {
  readonly #sockets: readonly BenchSocket[];
  readonly #options: Options;
  readonly #frames: readonly StampedFrame[];
  /** How many updates each page has sent. */
  readonly #sent: Uint32Array;

  constructor(sockets: readonly BenchSocket[], options: Options) {
    this.#sockets = sockets;
    this.#options = options;
    this.#frames = sockets.map((_, page) => stampedFrame(page, options.change));
    this.#sent = new Uint32Array(sockets.length);
  }

  /** Sends updates until the time is over, or so many; resolves to how long their answers took, in milliseconds. */
  async move({ seconds, movesPerSecond, movesMax = Number.POSITIVE_INFINITY }: Moves): Promise<number[]> {
    const { isBare, onMove } = this.#options;
    const count = this.#sockets.length;
    const dueAt = new Float64Array(count);
    const sentAt = new Float64Array(count).fill(-1_000);
    const isBusy = new Uint8Array(count);
    const latencies: number[] = [];
    const begin = performance.now();
    const end = begin + seconds * 1_000;
    const intervalMs = movesPerSecond === undefined ? 0 : 1_000 / movesPerSecond;
    let next = 0;
    let moves = 0;
    let underWay = 0;
    let due = begin;
    for (const [page, socket] of this.#sockets.entries())
      socket.onAnswer = () => {
        if (isBusy[page] === 0) return;
        isBusy[page] = 0;
        underWay -= 1;
        latencies.push(performance.now() - (dueAt[page] as number));
      };
    const mayMove = (now: number) =>
      (intervalMs > 0 || underWay < UNDER_WAY_MAX) &&
      now < end &&
      moves < movesMax &&
      due <= now &&
      isBusy[next] === 0 &&
      (isBare || now - (sentAt[next] as number) >= MOVE_INTERVAL_MS);
    for (;;) {
      let now = performance.now();
      while (mayMove(now)) {
        dueAt[next] = intervalMs > 0 ? due : now;
        sentAt[next] = now;
        isBusy[next] = 1;
        underWay += 1;
        onMove(next, dueAt[next] as number);
        this.#sockets[next]?.send(this.#nextFrame(next));
        next = next + 1 === count ? 0 : next + 1;
        moves += 1;
        due += intervalMs;
        now = performance.now();
      }
      if ((now >= end || moves >= movesMax) && (underWay === 0 || now > end + LAST_ANSWER_MS)) break;
      await new Promise(setImmediate);
    }
    return latencies;
  }

  #nextFrame(page: number): Buffer {
    const sent = (this.#sent[page] as number) + 1;
    this.#sent[page] = sent;
    const { different } = this.#options;
    const number = different === undefined ? sent : sent % different;
    return (this.#frames[page] as StampedFrame).numbered(number);
  }
}

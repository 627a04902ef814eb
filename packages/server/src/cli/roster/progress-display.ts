import type { Clock } from '../../core/clock.ts';

/** How far a command is. */
export interface Progress {
  /** What it has done, in words. */
  readonly state: string;
  /** From 0 to 1; null where the end is not known. */
  readonly fraction: number | null;
}

/** Where a long command says how it goes on. */
export interface ProgressDisplay {
  update(progress: Progress): void;
  /** A line that stays. */
  note(line: string): void;
  /** Leaves nothing unfinished behind. */
  close(): void;
}

/** The part of a terminal or file that a display needs. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const REDRAW_MS = 100;
const PLAIN_LINE_MS = 5_000;
const BAR_LENGTH = 24;

/** The display that suits the screen. `quiet` shows notes only. */
export function progressDisplay(screen: Screen, clock: Pick<Clock, 'now'>, quiet: boolean): ProgressDisplay {
  if (quiet) return { update() {}, note: (line) => void screen.write(`${line}\n`), close() {} };
  return screen.isTTY === true ? terminalDisplay(screen, clock) : plainDisplay(screen, clock);
}

/** One line that is drawn over again, ten times a second at most. */
function terminalDisplay(screen: Screen, clock: Pick<Clock, 'now'>): ProgressDisplay {
  const clear = '\r\x1b[K';
  let drawn = '';
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    update(progress) {
      const now = clock.now();
      if (now - drawnAt < REDRAW_MS) return;
      drawn = barOf(progress).slice(0, (screen.columns || 80) - 1);
      drawnAt = now;
      screen.write(clear + drawn);
    },
    note: (line) => void screen.write(`${clear}${line}\n${drawn}`),
    close() {
      if (drawn !== '') screen.write(clear);
      drawn = '';
    },
  };
}

/** Whole lines, one every few seconds, for logs. */
function plainDisplay(screen: Screen, clock: Pick<Clock, 'now'>): ProgressDisplay {
  let writtenAt = clock.now();
  return {
    update(progress) {
      const now = clock.now();
      if (now - writtenAt < PLAIN_LINE_MS) return;
      writtenAt = now;
      screen.write(`${percentOf(progress)}${progress.state}\n`);
    },
    note: (line) => void screen.write(`${line}\n`),
    close() {},
  };
}

function barOf(progress: Progress): string {
  if (progress.fraction === null) return progress.state;
  const full = Math.round(BAR_LENGTH * progress.fraction);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_LENGTH - full)}] ${percentOf(progress).padStart(7)}${progress.state}`;
}

const percentOf = ({ fraction }: Progress) => (fraction === null ? '' : `${Math.floor(fraction * 100)} %, `);

import type { Clock } from '../core/clock.ts';
import { visibleText } from './visible-text.ts';

/** How far a command is. */
interface Progress {
  /** The progress so far, in words. */
  readonly state: string;
  /** From 0 to 1; null where the end is not known. */
  readonly fraction: number | null;
}

/** Shows on standard error how far a long command is. */
export interface ProgressDisplay {
  /** It is called at each step: `progress` is computed only where it is shown. */
  update(progress: () => Progress): void;
  /** Writes a line that stays. */
  note(line: string): void;
  /** Clears an unfinished line. */
  close(): void;
}

/** The part of a terminal or file that a display needs. */
interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** How often a terminal's line is drawn again, and a line is added to a log, in milliseconds. */
const REDRAW_MS = 100;
const LOG_LINE_MS = 5_000;
const CLEAR = '\r\x1b[K';

/** On a terminal one line that is drawn over again; elsewhere whole lines, for logs. `quiet` shows notes only. */
export function progressDisplay(screen: Screen, clock: Pick<Clock, 'now'>, quiet: boolean): ProgressDisplay {
  const isTerminal = screen.isTTY === true;
  let drawn = '';
  let shownAt = isTerminal ? Number.NEGATIVE_INFINITY : clock.now();
  return {
    update(progress) {
      const now = clock.now();
      if (quiet || now - shownAt < (isTerminal ? REDRAW_MS : LOG_LINE_MS)) return;
      shownAt = now;
      const { state, fraction } = progress();
      const line = fraction === null ? state : `${Math.floor(fraction * 100)} %, ${state}`;
      if (isTerminal) drawn = line.slice(0, (screen.columns || 80) - 1);
      screen.write(isTerminal ? CLEAR + drawn : `${line}\n`);
    },
    note(line) {
      const shown = visibleText(line);
      screen.write(drawn === '' ? `${shown}\n` : `${CLEAR}${shown}\n${drawn}`);
    },
    close() {
      if (drawn !== '') screen.write(CLEAR);
      drawn = '';
    },
  };
}

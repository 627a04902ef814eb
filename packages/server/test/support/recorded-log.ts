import { type Logger, pino } from 'pino';

/** A log whose lines a test reads. */
export function recordedLog<Line>(level = 'info'): { readonly log: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  return { lines, log: pino({ level }, { write: (text) => void lines.push(JSON.parse(text)) }) };
}

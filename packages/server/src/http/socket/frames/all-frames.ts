import type { AnyFrame } from '../frame-definition.ts';
import { loginFrames } from './login.ts';
import { presenceFrames } from './presence.ts';
import { watchFrames } from './watches.ts';

/** What a client sends over a socket, in the order of its description. A subject is one line here. */
export const FRAMES: readonly AnyFrame[] = [...loginFrames, ...watchFrames, ...presenceFrames];

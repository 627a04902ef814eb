/** What the package offers to programs; the command line is its other entry. */
export { type Rollcall, type StartRollcallOptions, startRollcall } from './start-rollcall.ts';

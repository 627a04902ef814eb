import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Call, Register } from './register.ts';

/** Before a write that was answered 503 is sent again, in milliseconds. */
const PAUSE_MS = 20;

/** The expected state of a register: the last acknowledged number, and the number in flight at the kill. */
export class Lane {
  readonly register: Register;
  #acknowledged = 0;
  #inFlight: number | null = null;

  constructor(register: Register) {
    this.register = register;
  }

  /** Writes one number after the other until the server is gone, or `isOver` returns true. */
  async write(call: Call, onAnswer: () => void, isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const value = this.#acknowledged + 1;
      this.#inFlight = value;
      const answer = await this.register.write(call, value).catch(() => null);
      if (answer === null) return;
      assert.equal(answer.status, 200, answer.text);
      this.#acknowledged = value;
      this.#inFlight = null;
      onAnswer();
    }
  }

  /** Writes one number after the other until `isOver` returns true. A write that is answered 503 is sent again. */
  async writePatiently(call: Call, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const value = this.#acknowledged + 1;
      this.#inFlight = value;
      const { status, text } = await this.register.write(call, value);
      if (status === 200) {
        this.#acknowledged = value;
        this.#inFlight = null;
      } else {
        assert.equal(status, 503, text);
        await delay(PAUSE_MS);
      }
    }
  }

  /** The last number that was acknowledged. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Checks that the register has the last acknowledged number, or the whole number in flight. */
  async check(call: Call): Promise<void> {
    const { name, read, expected } = this.register;
    const found = await read(call);
    const possible = [this.#acknowledged, ...(this.#inFlight === null ? [] : [this.#inFlight])];
    const value = possible.find((candidate) => expected(candidate) === found);
    assert.ok(
      value !== undefined,
      `${name} is ${found}; acknowledged ${possible[0]}, in flight ${possible[1]}`,
    );
    this.#acknowledged = value;
    this.#inFlight = null;
  }
}

import assert from 'node:assert/strict';
import type { Call, Register } from './register.ts';

/** What is known of a register: the last number that was acknowledged, and the one that was under way at the kill. */
export class Lane {
  readonly register: Register;
  #acknowledged = 0;
  #underWay: number | null = null;

  constructor(register: Register) {
    this.register = register;
  }

  /** Writes one number after the other until the server is gone, or `isOver` says so. */
  async write(call: Call, onAnswer: () => void, isOver: () => boolean = () => false): Promise<void> {
    while (!isOver()) {
      const value = this.#acknowledged + 1;
      this.#underWay = value;
      const answer = await this.register.write(call, value).catch(() => null);
      if (answer === null) return;
      assert.equal(answer.status, 200, answer.text);
      this.#acknowledged = value;
      this.#underWay = null;
      onAnswer();
    }
  }

  /** The register holds what was acknowledged last, or else all of what was under way. */
  async check(call: Call): Promise<void> {
    const { name, read, kept } = this.register;
    const found = await read(call);
    const possible = [this.#acknowledged, ...(this.#underWay === null ? [] : [this.#underWay])];
    const value = possible.find((candidate) => kept(candidate) === found);
    assert.ok(
      value !== undefined,
      `${name} is ${found}; acknowledged ${possible[0]}, under way ${possible[1]}`,
    );
    this.#acknowledged = value;
    this.#underWay = null;
  }
}

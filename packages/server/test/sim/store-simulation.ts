/**
 * Random operations on an engine and on the naive model, side by side: every outcome and, again and again, everything
 * that can be read must be the same. Several projects run at once on one store, with the same IDs in each; within a
 * project some operations race, and then the engine must be where one of their orders leads. A replay of the recorded changes
 * must lead there too.
 */
import assert from 'node:assert/strict';
import type { DurableBounds } from '../../src/store/durable-bounds.ts';
import type { Store } from '../../src/store/store.ts';
import type { ProjectKey } from '../../src/values/project-key.ts';
import type { MakeStoreSpace, StoreSpace } from '../contract/store/store-lab.ts';
import { closing } from '../support/closing.ts';
import { comparableOutcome } from './comparable-outcome.ts';
import { ModelState } from './model-state.ts';
import { Random } from './random.ts';
import { ReplayedRecords } from './replayed-records.ts';
import type { Step } from './steps.ts';
import { StoreModel } from './store-model.ts';
import { StepSource } from './store-steps.ts';
import { everything } from './store-view.ts';

export interface SimulationSize {
  readonly projects: number;
  /** The rounds of each project, each time that the store is opened. */
  readonly rounds: number;
  readonly openings: number;
}

/** Of a simulated store: so small that a few locations exceed them. */
export const SMALL_BOUNDS: DurableBounds = { locations: 3, bytes: 60 };

const CUSTOMER = { id: 'customer', secret: 's', name: 'C', createdAt: 0 };
const RACE = 0.3;
const DELETED_PROJECT = 0.01;
/** Rounds between two comparisons of all data, where no operations raced. */
const COMPARE_EVERY = 8;
/** One of so many rounds follows in the store that has imported the simulated one. */
const ROUNDS_MOVED = 4;

/**
 * Runs a simulation of a store that is opened with {@link SMALL_BOUNDS}, and of another one that has imported it.
 * @throws Error that names the seed and the last operations, caused by the difference
 */
export async function simulateStore(
  makeSpace: MakeStoreSpace,
  seed: number,
  size: SimulationSize,
): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const open = async () => opened.adopt(await makeSpace(), ({ remove }) => remove());
  const [space, moved] = [await open(), await open()];
  const runs = Array.from({ length: size.projects }, (_, index) => new ProjectRun(seed, index));
  const inStore = async ({ open }: StoreSpace, use: (store: Store) => Promise<void>) => {
    await using store = closing(await open());
    await use(store);
  };
  const runAll = async (store: Store, rounds = size.rounds) => {
    await Promise.all(runs.map((run) => run.run(store, rounds)));
  };
  for (let opening = 0; opening < size.openings; opening += 1) await inStore(space, (store) => runAll(store));
  await inStore(moved, async (store) => {
    await inStore(space, (from) => store.transfer.import(from.transfer.export()));
    for (const run of runs) await run.moveTo(store);
    await runAll(store, size.rounds / ROUNDS_MOVED);
  });
  return runs.reduce((sum, { steps }) => sum + steps, 0);
}

/** One project of the engine, and the model that it is compared with. */
class ProjectRun {
  readonly #name: string;
  readonly #random: Random;
  readonly #source: StepSource;
  readonly #history: string[] = [];
  #model = new StoreModel(new ModelState(SMALL_BOUNDS));
  #engineKey: ProjectKey | null = null;
  #modelKey: ProjectKey = 0;
  #replayed = new ReplayedRecords();
  steps = 0;

  constructor(seed: number, index: number) {
    this.#name = `seed ${seed}, project ${index}`;
    this.#random = new Random(seed * 1_000 + index);
    this.#source = new StepSource(this.#random);
  }

  /** Finds the project in a store that has imported it, and compares all that can be read. */
  async moveTo(store: Store): Promise<void> {
    this.#history.push('the store is moved to another one');
    this.#engineKey = (await store.projects.find(this.#name))?.key ?? null;
    this.#replayed.moved();
    await this.#compareAll(store);
  }

  async run(store: Store, rounds: number): Promise<void> {
    try {
      if (this.#engineKey === null) await this.#createProject(store);
      for (let round = 0; round < rounds; round += 1) await this.#round(store, round);
      await this.#compareAll(store);
      await this.#replayed.compare(store, this.#key);
    } catch (error) {
      const operations = this.#history.slice(-12).join('\n  ');
      throw new Error(`${this.#name}: the engine and the model differ after\n  ${operations}`, {
        cause: error,
      });
    }
  }

  async #round(store: Store, round: number): Promise<void> {
    if (this.#random.chance(DELETED_PROJECT)) await this.#deleteProject(store);
    const racing = this.#random.chance(RACE) ? 2 + this.#random.below(2) : 1;
    const steps = Array.from({ length: racing }, () => this.#source.write());
    this.steps += racing;
    this.#history.push(steps.map(({ text }) => text).join('\n  | '));
    const outcomes = await Promise.all(steps.map((step) => step.run(store, this.#key)));
    if (racing > 1) await this.#settleRace(store, steps, outcomes);
    else await this.#compareOutcomes(steps, outcomes, this.#model);
    if (round % COMPARE_EVERY === 0) await this.#compareAll(store);
  }

  /** Continues from the order of the steps that leads to the outcomes of the engine. */
  async #settleRace(store: Store, steps: readonly Step[], outcomes: readonly unknown[]): Promise<void> {
    const limit = this.#pageLimit();
    const found = await everything(store, this.#key, limit);
    const differences: unknown[] = [];
    for (const order of ordersOf(steps.length)) {
      const model = this.#model.copy();
      try {
        await this.#compareOutcomes(at(steps, order), at(outcomes, order), model);
        assert.deepEqual(found, await everything(model, this.#modelKey, limit));
        this.#model = model;
        return;
      } catch (difference) {
        differences.push(difference);
      }
    }
    throw new AggregateError(differences, 'no order of the racing operations leads to this');
  }

  async #compareOutcomes(
    steps: readonly Step[],
    outcomes: readonly unknown[],
    model: StoreModel,
  ): Promise<void> {
    for (const [index, step] of steps.entries()) {
      const expected = await step.run(model, this.#modelKey);
      assert.deepEqual(
        comparableOutcome(outcomes[index], expected),
        comparableOutcome(expected, expected),
        step.text,
      );
    }
  }

  async #compareAll(store: Store): Promise<void> {
    const limit = this.#pageLimit();
    const expected = await everything(this.#model, this.#modelKey, limit);
    assert.deepEqual(await everything(store, this.#key, limit), expected);
  }

  /** Another length each time: the boundaries of pages must not matter. */
  #pageLimit(): number {
    return 1 + this.#random.below(4);
  }

  async #createProject(store: Store): Promise<void> {
    await store.customers.create(CUSTOMER);
    await this.#model.customers.create(CUSTOMER);
    const project = { id: this.#name, customerId: CUSTOMER.id, name: 'P', secret: 's', createdAt: 0 };
    const [made, modelled] = [
      await store.projects.create(project),
      await this.#model.projects.create(project),
    ];
    assert.ok(made.kind === 'created' && modelled.kind === 'created');
    this.#engineKey = made.project.key;
    this.#replayed = new ReplayedRecords();
    this.#modelKey = modelled.project.key;
  }

  /** The project is deleted and created again with its ID, empty. */
  async #deleteProject(store: Store): Promise<void> {
    this.#history.push('the project is deleted and made again');
    assert.equal(await store.projects.delete(this.#key), true);
    await this.#model.projects.delete(this.#modelKey);
    await this.#createProject(store);
  }

  get #key(): ProjectKey {
    assert.ok(this.#engineKey !== null);
    return this.#engineKey;
  }
}

const at = <Value>(values: readonly Value[], order: readonly number[]) =>
  order.map((index) => values[index] as Value);

/** Every order of the numbers below `count`, the natural one first. */
function ordersOf(count: number): number[][] {
  if (count === 0) return [[]];
  return ordersOf(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, back) => order.toSpliced(order.length - back, 0, count - 1)),
  );
}

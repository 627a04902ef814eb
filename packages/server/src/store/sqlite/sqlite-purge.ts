import { ConversationPurge } from './conversation/sqlite-conversation-purge.ts';
import type { SqliteConnection, Statement } from './sqlite-connection.ts';
import { TABLES_OF_GROUP, TABLES_OF_PROJECT } from './sqlite-owned-tables.ts';

/** Rows that are removed in one transaction: some 20 ms, so that other writes hardly wait. */
const PURGE_ROWS = 2_000;
/** Free pages that stay in the file for later writes: 4 MiB. */
const FREE_PAGES = 1_024;
/** Pages that are given back in one transaction: some 5 ms. */
const PAGES_AT_ONCE = 100;

/** Statements that remove rows of the group ?1, some at a time, in this order. */
const OF_GROUP = [
  ...TABLES_OF_GROUP.map(([table, key]) => slice(table, key, 'group_no')),
  `DELETE FROM user_groups WHERE (user_no, group_id) IN (
    SELECT m.user_no, g.id FROM memberships m CROSS JOIN groups g ON g.group_no = m.group_no
    WHERE m.group_no = ?1 LIMIT ${PURGE_ROWS})`,
  slice('memberships', 'group_no, user_id', 'group_no'),
  'UPDATE conversations SET group_no = NULL WHERE group_no = ?1',
  'DELETE FROM groups WHERE group_no = ?1',
];

function slice(table: string, key: string, owner: string): string {
  return `DELETE FROM ${table} WHERE (${key}) IN (
    SELECT ${key} FROM ${table} WHERE ${owner} = ?1 LIMIT ${PURGE_ROWS})`;
}

/** Statements that remove rows of the project ?1 that belong to no group, some at a time. */
const OF_PROJECT = [
  slice('users', 'user_no', 'project_no'),
  ...TABLES_OF_PROJECT.map(([table, key]) => slice(table, key, 'project_no')),
];

/** Removes the data of deleted projects, groups and threads, and gives its disk space back, on the writer's thread. */
export class Purge {
  readonly #statements;
  readonly #conversations: ConversationPurge;
  readonly #ofGroup;
  readonly #ofProject;

  constructor(connection: SqliteConnection) {
    const { prepare } = connection;
    this.#conversations = new ConversationPurge(connection);
    this.#ofGroup = OF_GROUP.map((sql) => prepare(sql));
    this.#ofProject = OF_PROJECT.map((sql) => prepare(sql));
    this.#statements = {
      nextProject: prepare<[projectNo: number]>('SELECT project_no FROM deleted_projects LIMIT 1'),
      nextGroup: prepare<[groupNo: number]>('SELECT group_no FROM groups WHERE project_no = ? LIMIT 1'),
      forget: prepare('DELETE FROM deleted_projects WHERE project_no = ?'),
      freePages: prepare<[pages: number]>('PRAGMA freelist_count'),
      giveBack: prepare(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`),
    };
  }

  /** Removes a slice. False when nothing is left to remove. */
  run(): boolean {
    return this.#conversations.run() || this.#purgeProject() || this.#giveBackPages();
  }

  /** The last pages of the file move into free ones. The file becomes shorter with the next checkpoint. */
  #giveBackPages(): boolean {
    const [free = 0] = this.#statements.freePages.get() ?? [];
    // A file of an earlier version gives nothing back.
    return free > FREE_PAGES && this.#statements.giveBack.all().length > 0;
  }

  #purgeProject(): boolean {
    const project = this.#statements.nextProject.get()?.[0];
    if (project === undefined) return false;
    for (let rows = 0; rows < PURGE_ROWS; ) {
      const group = this.#statements.nextGroup.get(project)?.[0];
      const removed =
        group === undefined ? removeSome(this.#ofProject, project) : removeSome(this.#ofGroup, group);
      if (removed === 0) {
        this.#statements.forget.run(project);
        break;
      }
      rows += removed;
    }
    return true;
  }
}

/** Runs the first of the statements that has rows to remove; their number. */
function removeSome(statements: readonly Statement[], owner: number): number {
  for (const statement of statements) {
    const removed = statement.run(owner);
    if (removed > 0) return removed;
  }
  return 0;
}

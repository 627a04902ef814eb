/** The engine cannot be reached, or cannot write, right now. Nothing was applied. */
export class StoreUnavailableError extends Error {}

/** A write names a project that has been deleted since its key was read. Nothing was applied. */
export class ProjectGoneError extends Error {
  constructor() {
    super('the project was deleted');
  }
}

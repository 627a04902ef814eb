/** The store's own name of a project, taken from its record; never used again once the project is deleted. */
export type ProjectKey = string | number;

/**
 * The module `node:http`. An import of its values reads all of them, and Node then loads its `fetch` and its WebSocket client too:
 * a seventh of the time of a start. Types are imported from `node:http` itself.
 */
export const http = process.getBuiltinModule('node:http');

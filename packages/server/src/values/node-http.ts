/**
 * Node's HTTP, without its WebSocket: an import of node:http would read that name too, and with it load all of `fetch`, which
 * takes every process some MB of memory and some hundredths of a second.
 */
export const http = process.getBuiltinModule('node:http');

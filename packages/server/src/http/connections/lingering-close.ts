import type { Socket } from 'node:net';

/**
 * Longest time that a connection stays open after the server decided to close it, in milliseconds. A peer that leaves its
 * side open, or goes on sending, costs a file descriptor for this time; the bytes that it sends are dropped.
 */
export const LINGER_MS = 5_000;

/**
 * Closes a connection without a reset: sends what is written and FIN, then drops what still arrives until the peer ends its
 * side. Destroying the socket at once would reset the connection while bytes of the peer are unread, and a reset can erase
 * an answer that the peer has not read yet (RFC 9112, section 9.6).
 */
export function closeLingering(socket: Socket): void {
  stopReading(socket);
  // The socket destroys itself when both sides have ended.
  socket.end();
}

/** Reads no further request from a connection, and destroys it after LINGER_MS. Idempotent. */
export function stopReading(socket: Socket): void {
  if (socket.destroyed || lingering.has(socket)) return;
  lingering.add(socket);
  const limit = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(limit));
  dropInput(socket);
}

/** Drops what still arrives on a connection, which stays open. Its end is noticed. Idempotent. */
export function dropInput(socket: Socket): void {
  // Without this listener the HTTP parser gets no more bytes.
  socket.removeAllListeners('data');
  socket.on('data', drop);
  socket.resume();
}

const lingering = new WeakSet<Socket>();

function drop(): void {}

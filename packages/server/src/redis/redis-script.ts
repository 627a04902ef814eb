import { hash } from 'node:crypto';

/** A Lua script, and the SHA-1 by which EVALSHA names it. */
export interface RedisScript {
  readonly source: string;
  readonly sha: string;
}

export function redisScript(source: string): RedisScript {
  return { source, sha: hash('sha1', source) };
}

import { hash } from 'node:crypto';

/** A Lua script and the name by which Redis knows it once it has seen it. */
export interface RedisScript {
  readonly source: string;
  readonly sha: string;
}

export function redisScript(source: string): RedisScript {
  return { source, sha: hash('sha1', source) };
}

/** The import rule of ARCHITECTURE.md: who may import whom. */
const server = 'packages/server/src';
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'protocol-stands-alone',
      comment: 'What server and clients share knows neither.',
      severity: 'error',
      from: { path: '^packages/protocol/src/' },
      to: { pathNot: '^packages/protocol/src/' },
    },
    {
      name: 'client-takes-types-of-the-protocol-only',
      comment: 'It is published by itself; the build writes the types out.',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { pathNot: '^packages/client/src/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'client-knows-no-server',
      severity: 'error',
      from: { path: '^packages/client/src/' },
      to: { pathNot: '^packages/(client/src|protocol)/' },
    },
    {
      name: 'core-knows-no-engine-and-no-http',
      comment: 'The rules are written once for all engines; of the ports they see the prose and the types.',
      severity: 'error',
      from: { path: `^${server}/core/` },
      to: {
        path: `^(${server}/(http|cli|auth|config|[a-z-]+\\.ts|(store|presence|broker)/[a-z-]+/)|node_modules/(fastify|@fastify))`,
      },
    },
    {
      name: 'drivers-know-only-their-port',
      severity: 'error',
      from: { path: `^${server}/(store|presence|broker)/([a-z-]+)/` },
      to: {
        path: `^${server}/`,
        // `redis/` is the connection that its two drivers share; `gathered.ts` knows none of them.
        pathNot: [
          `^${server}/$1/$2/`,
          `^${server}/$1/[a-z-]+\\.ts$`,
          `^${server}/store/store\\.ts$`,
          `^${server}/redis/`,
          `^${server}/gathered\\.ts$`,
        ],
      },
    },
    {
      name: 'only-wiring-names-drivers',
      severity: 'error',
      from: { path: `^${server}/`, pathNot: `^${server}/(wiring\\.ts|(store|presence|broker)/)` },
      to: { path: `^${server}/(store|presence|broker)/[a-z-]+/` },
    },
    {
      name: 'http-and-auth-know-no-command-line',
      severity: 'error',
      from: { path: `^${server}/(http|auth|store|presence|broker)/` },
      to: { path: `^${server}/cli/` },
    },
    {
      name: 'sources-import-no-tests',
      severity: 'error',
      from: { path: '^packages/[a-z]+/src/' },
      to: { path: '/test/' },
    },
    {
      name: 'only-declared-packages',
      severity: 'error',
      from: { path: '^packages/[a-z]+/src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      conditionNames: ['node', 'import', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};

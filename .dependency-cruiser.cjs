/** The import rules; ARCHITECTURE.md lists them. */
const server = 'packages/server/src';

/** The folders of the streams, the lowest first. A folder imports the folders before it, types included. */
const streamFolders = [
  ...['events', 'text', 'views', 'channels', 'sessions', 'feed', 'conversation', 'changes', 'hub'],
];
const streamRules = streamFolders.slice(0, -1).map((folder, index) => ({
  name: `streams-import-downwards-${index}`,
  severity: 'error',
  from: { path: `^${server}/realtime/${folder}` },
  to: { path: `^${server}/realtime/(${streamFolders.slice(index + 1).join('|')})` },
}));

module.exports = {
  forbidden: [
    ...streamRules,
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-cycles-of-types',
      comment: 'Sources are layers for readers too.',
      severity: 'error',
      from: { path: '^packages/[a-z]+/src/' },
      to: { circular: true },
    },
    {
      name: 'protocol-stands-alone',
      comment: 'Server and clients share it.',
      severity: 'error',
      from: { path: '^packages/protocol/src/' },
      to: { pathNot: '^packages/protocol/src/' },
    },
    {
      name: 'client-takes-types-of-the-protocol-only',
      comment: 'It is published by itself; the build expands the types.',
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
      name: 'react-knows-the-client-only',
      comment: 'The transport is the business of the client.',
      severity: 'error',
      from: { path: '^packages/react/src/' },
      to: { pathNot: '^(packages/(react/src|client/src/index\\.ts$)|node_modules/(@types/)?react/)' },
    },
    {
      name: 'core-knows-no-engine-and-no-http',
      comment: 'The rules are written once for all engines; they import the types of the ports.',
      severity: 'error',
      from: { path: `^${server}/core/` },
      to: {
        path: `^(${server}/(http|wire|api-description|realtime|webhooks|cli|auth|config|redis|[a-z-]+\\.ts|(store|presence|broker)/(?!ports/)[a-z-]+/)|node_modules/find-my-way)`,
      },
    },
    {
      name: 'concurrency-stands-alone',
      comment: 'Mutex, semaphore, batcher and worker pool do not depend on Rollcall.',
      severity: 'error',
      from: { path: `^${server}/concurrency/` },
      to: { path: '^packages/', pathNot: `^${server}/concurrency/` },
    },
    {
      name: 'metrics-stand-alone',
      comment: 'Every folder counts with them.',
      severity: 'error',
      from: { path: `^${server}/metrics/` },
      to: { path: '^packages/', pathNot: `^${server}/metrics/` },
    },
    {
      name: 'tracing-stands-alone',
      comment: 'Requests, stores, Redis and webhooks are traced with it.',
      severity: 'error',
      from: { path: `^${server}/tracing/` },
      to: { path: '^packages/', pathNot: `^${server}/tracing/` },
    },
    {
      name: 'opentelemetry-is-loaded-on-demand',
      comment: 'A server without traces loads none of its packages.',
      severity: 'error',
      from: { path: '^packages/', pathNot: `^${server}/tracing/(otel|logged)-[a-z]+\\.ts$` },
      to: { path: '^node_modules/@opentelemetry/' },
    },
    {
      name: 'drivers-know-only-their-port',
      severity: 'error',
      from: { path: `^${server}/(store|presence|broker)/([a-z-]+)/` },
      to: {
        path: `^${server}/`,
        // `redis/` is the connection that its two drivers share; `concurrency/` imports no driver.
        pathNot: [
          `^${server}/$1/$2/`,
          `^${server}/$1/(ports/)?[a-z-]+\\.ts$`,
          `^${server}/values/`,
          `^${server}/redis/`,
          `^${server}/concurrency/`,
          `^${server}/metrics/`,
          `^${server}/tracing/`,
        ],
      },
    },
    {
      name: 'wire-knows-the-protocol-and-the-ports-only',
      comment: 'HTTP and the streams both write with it.',
      severity: 'error',
      from: { path: `^${server}/wire/` },
      to: {
        path: `^${server}/`,
        pathNot: [
          `^${server}/wire/`,
          `^${server}/values/`,
          `^${server}/store/(ports/)?[a-z-]+\\.ts$`,
          `^${server}/presence/presence-store\\.ts$`,
        ],
      },
    },
    {
      name: 'http-knows-no-api-description',
      comment: 'It is built from the operations.',
      severity: 'error',
      from: { path: `^${server}/http/` },
      to: { path: `^${server}/api-description/` },
    },
    {
      name: 'realtime-knows-no-http',
      severity: 'error',
      from: { path: `^${server}/realtime/` },
      to: { path: `^${server}/(http|auth|cli|config)/` },
    },
    {
      name: 'webhooks-know-no-http-of-ours',
      comment: 'They are given what to send; the operations call them.',
      severity: 'error',
      from: { path: `^${server}/webhooks/` },
      to: { path: `^${server}/(http|auth|cli|config|realtime)/` },
    },
    {
      name: 'only-wiring-names-drivers',
      severity: 'error',
      from: { path: `^${server}/`, pathNot: `^${server}/(wiring\\.ts|(store|presence|broker)/)` },
      to: { path: `^${server}/(store|presence|broker)/(?!ports/)[a-z-]+/` },
    },
    {
      name: 'values-stand-alone',
      comment: 'Types that every folder uses.',
      severity: 'error',
      from: { path: `^${server}/values/` },
      to: { pathNot: `^${server}/values/` },
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
    {
      name: 'resolvable',
      comment:
        'The launcher of the package starts what the build makes, which a fresh checkout does not have.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^\\.\\./dist/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    // Its paths name the sources of the client, which is built only to be published.
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    // What is built from the sources.
    exclude: { path: '^packages/[a-z]+/dist/' },
    enhancedResolveOptions: {
      conditionNames: ['node', 'import', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
